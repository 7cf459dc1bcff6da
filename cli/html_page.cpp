#include "cli/html_page.h"

#include <algorithm>
#include <ctime>
#include <vector>

#include "analyzer/model/report.h"
#include "analyzer/model/stack_tree.h"
#include "cli/groups_text.h"
#include "cli/text.h"
#include "render/load/device_timeline.h"
#include "render/scene/flame.h"
#include "render/scene/svg.h"
#include "trace/base/xml_text.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::cli {
namespace {

constexpr int kWidth = 1200;
constexpr int kTextSize = 12;
constexpr int kDeepest = 24;       // rows of a flame graph
constexpr std::size_t kMost = 40;  // rows of a table

constexpr char kStyle[] =
    "body{font:14px/1.45 'DejaVu Sans',Verdana,sans-serif;max-width:1240px;margin:0 auto;padding:20px;color:#1c1f24;"
    "background:#fff}h1{font-size:22px}h2{font-size:17px;margin-top:32px}svg{width:100%;height:auto;display:block;"
    "border:1px solid #e2e5ea}svg text{font-family:'DejaVu "
    "Sans',Verdana,sans-serif}pre{overflow-x:auto;background:#f6f7f9;"
    "padding:14px;font:12.5px/1.45 'DejaVu Sans Mono',Menlo,Consolas,monospace}table{border-collapse:collapse}"
    "td,th{padding:2px 12px 2px 0;text-align:left;border-bottom:1px solid #e2e5ea}td.n,th.n{text-align:right;"
    "white-space:nowrap}.name{white-space:nowrap}table{margin-top:12px}.key{display:inline-block;width:11px;height:"
    "11px;margin:0 5px 0 14px}p.legend{font-size:12.5px}";

std::string color_text(scene::Color color) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "#";
  for (int shift = 20; shift >= 0; shift -= 4) text += kDigits[(color >> shift) & 0xfU];
  return text;
}

scene::Flame flame_of(model::StackTree tree) {
  scene::Flame flame{std::move(tree.name), tree.bytes.value, {}};
  for (model::StackTree& inner : tree.inner) flame.inner.push_back(flame_of(std::move(inner)));
  return flame;
}

std::string legend(const scene::Document& document) {
  std::string html = "<p class=\"legend\">stacked by site:";
  const auto add = [&](scene::Color color, std::string_view name) {
    html += "<span class=\"name\"><span class=\"key\" style=\"background:" + color_text(color) + "\"></span>" +
            xml_escaped(name) + "</span> ";
  };
  const auto& theme = scene::kLight;
  for (std::size_t i = 0; i < document.groups.size(); ++i) add(theme.groups[i], document.groups[i]);
  add(theme.groups.back(), "others");
  if (!document.reserved.empty()) html += ". Grey line: what the allocator had reserved, at most";
  if (document.without != nullptr) html += ". Hatched: dead but held. Dashed: the peak without the findings.";
  return html + "</p>\n";
}

std::string timeline_svg(load::DeviceTimeline& timeline) {
  using namespace scene;
  const View view(timeline.recording(), better_axis(timeline.recording()));
  Appearance appearance;
  appearance.width = kWidth;
  appearance.height = 420;
  appearance.text_height = kTextSize + 4;
  appearance.text_width = [](std::string_view text) { return Svg::text_width(text, kTextSize); };
  Painter painter;
  // The height must fit all bands, and the curve gets a share of it, so the height is found iteratively.
  for (int i = 0; i < 4; ++i) {
    Svg measured(appearance.width, appearance.height, kTextSize, "t");
    const int needed = painter.draw(timeline.document(), view, appearance, measured).content + painter.bands_top();
    appearance.height = std::clamp(needed, 300, 900);
  }
  Svg svg(appearance.width, appearance.height, kTextSize, "t");
  painter.draw(timeline.document(), view, appearance, svg);
  return svg.element("what was allocated over time, and the lifetimes of the findings");
}

std::string live_table(const model::Groups& groups) {
  std::string html =
      "<table><tr><th class=\"n\">bytes</th><th class=\"n\">share</th><th class=\"n\">blocks</th><th>allocated "
      "at</th></tr>\n";
  for (std::size_t i = 0; i < groups.groups.size() && i < kMost; ++i) {
    const analyzer::Group& group = groups.groups[i];
    html += "<tr><td class=\"n\">" + exact_bytes(group.bytes.value) + "</td><td class=\"n\">" +
            percent(group.share, 1) + "</td><td class=\"n\">" + (group.blocks > 0 ? grouped(group.blocks) : "-") +
            "</td><td>" + xml_escaped(group.name) + "</td></tr>\n";
  }
  html += "</table>\n";
  if (groups.groups.size() > kMost) {
    html += "<p>and " + counted(static_cast<std::int64_t>(groups.groups.size() - kMost), "more site") + " with " +
            exact_bytes(groups.bytes_from(kMost).value) + "</p>\n";
  }
  return html;
}

/// The modules with the categories of their bytes; empty where no module allocated.
std::string modules_html(const model::LiveSet& live) {
  const std::vector<analyzer::ModuleGroup> groups = live.by_module();
  if (std::ranges::none_of(groups, &analyzer::ModuleGroup::is_module)) return {};
  return "<h2>Alive at this peak, by module</h2>\n<pre>" + xml_escaped(module_table(groups, kMost, Style())) +
         "</pre>\n";
}

/// "python train.py · 2026-11-29 03:24 UTC · torch 2.15.0 · Python 3.11.2 · dc-memtrace 0.1.0"
std::string origin_of(const LoadedTrace& trace) {
  const analyzer::RunFacts& facts = trace.analysis.facts;
  std::vector<std::string> parts;
  if (!facts.command.empty()) parts.push_back(facts.command);
  if (const std::int64_t ns = trace.data->meta_integer(meta::kStartRealNs).value_or(0); ns > 0) {
    const std::time_t seconds = ns / 1'000'000'000;
    std::tm parts_of_time{};
    gmtime_r(&seconds, &parts_of_time);
    char text[32];
    parts.emplace_back(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts_of_time));
  }
  if (!facts.torch.empty()) parts.push_back("torch " + facts.torch);
  if (!facts.python.empty()) parts.push_back("Python " + facts.python);
  if (!facts.tool_version.empty()) parts.push_back("dc-memtrace " + facts.tool_version);
  return joined(parts, " · ");
}

}  // namespace

Status HtmlPage::add(const LoadedTrace& trace, const std::string& report_text) {
  titles_.push_back(trace.path);
  body_ += "<h1>" + xml_escaped(trace.path) + "</h1>\n<p>" + xml_escaped(origin_of(trace)) + "</p>\n<pre>" +
           xml_escaped(report_text) + "</pre>\n";
  for (const analyzer::DeviceAnalysis& device : trace.analysis.devices) {
    DCMT_ASSIGN_OR_RETURN(const std::unique_ptr<load::DeviceTimeline> timeline,
                          load::DeviceTimeline::make(trace.analysis, device, {}));
    const model::DevicePeak& peak = timeline->peak();
    if (!peak.at) continue;
    body_ += "<h2>" + xml_escaped(timeline->name()) + ": " + xml_escaped(timeline->document().peak_text) + "</h2>\n" +
             legend(timeline->document()) + timeline_svg(*timeline);
    if (peak.sums_only) continue;  // what was alive then is unknown
    const model::LiveSet live(trace.data.get(), &trace.analysis.phases, device.device, peak.at->seq);
    body_ += modules_html(live) + "<h2>Alive at this peak, by the stack that allocated it</h2>\n" +
             scene::flame_svg(flame_of(model::stack_tree_of(live)), kWidth, kDeepest, scene::kLight) +
             live_table(live.by(analyzer::GroupBy::kSite));
  }
  return {};
}

std::string HtmlPage::page(const std::string& run_text) const {
  std::string title = "dc-memtrace";
  if (!titles_.empty()) title += ": " + titles_.front();
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
      "<title>" +
      xml_escaped(title) + "</title><style>" + kStyle + "</style></head><body>\n" + body_;
  if (!run_text.empty()) html += "<h2>All ranks</h2>\n<pre>" + xml_escaped(run_text) + "</pre>\n";
  return html + "</body></html>\n";
}

}  // namespace dcmt::cli
