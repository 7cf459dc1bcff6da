// What a GPU's allocator had reserved, as printed by `show reserved`.
#include <fmt/format.h>

#include "cli/show_text.h"
#include "render/wording/fragmented_words.h"
#include "render/wording/reserved_words.h"
#include "trace/base/shell_words.h"

namespace dcmt::cli {
namespace {

std::string row_text(const analyzer::ReservedRow& row, const model::ReservedView& view, const Style& style) {
  std::string text = wording::reserved_text(row, view.stream);
  if (row.kind == analyzer::ReservedKind::kOtherStream && row.releasable.value > 0) {
    text += fmt::format("; {} can be given back", style.bytes(row.releasable));
  }
  return text;
}

std::string rows_table(const model::ReservedView& view, const Style& style) {
  Table table({"bytes", "of it", "what"}, {true, true, false});
  for (const analyzer::ReservedRow& row : view.rows) {
    table.add({style.bytes(row.bytes),
               percent(static_cast<double>(row.bytes.value) / static_cast<double>(view.reserved.value), 1),
               row_text(row, view, style)});
  }
  return table.text(style, "  ");
}

std::string kept_table(const model::ReservedView& view, const Style& style) {
  Table table({"free", "of", "blocks", "largest", "block", "made at, held by"}, {true, true, true, true, true, false});
  for (const analyzer::KeptSegment& each : view.kept) {
    const analyzer::KeepingBlock& block = each.largest.front();
    std::string who = block.site;
    if (block.waits) who += " · freed, another stream still uses it";
    if (block.holder) who += " · " + *block.holder;
    table.add({style.bytes(each.free), style.bytes(each.bytes), grouped(each.blocks), style.bytes(block.bytes),
               grouped(block.block.value), who});
  }
  return table.text(style, "  ");
}

std::string idle_lines(const std::vector<analyzer::IdleSetting>& idle) {
  std::string text;
  for (const analyzer::IdleSetting& each : idle) {
    text += fmt::format("  {} has no effect on this run: {}\n", each.setting, each.why);
  }
  return text;
}

std::string prediction_text(const model::ReservedIf& each, const model::ReservedView& view, const Style& style) {
  const std::int64_t change = each.reserved_peak.value - view.reserved_peak.value;
  std::string text = style.bold(fmt::format("\nif {}", each.settings)) + "\n";
  text += fmt::format(
      "  reserved at most {}, not {}: {}\n", style.bytes(each.reserved_peak), style.bytes(view.reserved_peak),
      change == 0 ? "no change"
                  : fmt::format("{} {}", style.bytes(Bytes(std::abs(change))), change < 0 ? "less" : "more"));
  if (each.runs_out) text += style.bad("  memory would run out where it did not") + "\n";
  if (each.refused > 0) {
    text += fmt::format("  {} of {} that had no memory would have had it\n", grouped(each.refused_fits),
                        counted(each.refused, "request"));
  }
  return text + idle_lines(each.idle);
}

}  // namespace

std::string reserved_text(const model::ReservedView& view, const Style& style) {
  std::string text =
      style.bold(fmt::format("reserved {}  {} on {}", point_text(view.at), style.bytes(view.reserved), *view.device)) +
      fmt::format("   seq {}", grouped(view.at_seq.value));
  if (view.step) text += fmt::format(" · step {}", *view.step);
  text += "\n" + rows_table(view, style);
  if (!view.kept.empty()) {
    text +=
        style.bold("\nfree, but kept") + fmt::format("   by blocks in {}{}\n", counted(view.kept_segments, "segment"),
                                                     view.kept.size() < static_cast<std::size_t>(view.kept_segments)
                                                         ? fmt::format("; the {} with most", view.kept.size())
                                                         : "");
    text += kept_table(view, style);
  }
  if (view.settings) {
    text += fmt::format("\nsettings   {}\n", view.settings->empty() ? "none" : *view.settings);
    text += idle_lines(view.idle);
  }
  for (const analyzer::Remedy& remedy : view.remedies) {
    text += fmt::format("{}{}\n", &remedy == view.remedies.data() ? "would help " : "           ",
                        wording::remedy_text(remedy, style.form()));
  }
  if (view.not_modelled) text += fmt::format("no prediction: {}\n", *view.not_modelled);
  for (const model::ReservedIf& each : view.predictions) text += prediction_text(each, view, style);
  if (!view.predictions.empty() && view.model && view.model->given_back > 0) {
    text += fmt::format(
        "\nThe cache was given back {} although more had been reserved at another time. If the program did not\n"
        "empty it there (torch.cuda.empty_cache), its limit changed, and a predicted peak may be too high.\n",
        counted(view.model->given_back, "time"));
  }
  if (!view.not_modelled && view.predictions.empty() && view.remedies.empty()) {
    text += fmt::format("next: dc-memtrace show reserved {} --if expandable_segments:True\n", shell_word(view.path));
  }
  return text;
}

}  // namespace dcmt::cli
