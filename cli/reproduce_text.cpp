#include "cli/reproduce_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "trace/base/shell_words.h"

namespace dcmt::cli {
namespace {

using model::ReplayView;
using model::VerdictCounts;

std::string region_text(const ReplayView& view) {
  if (!view.first_step) return view.after_last_step ? "what comes after the last step" : "the whole run";
  return *view.first_step == *view.last_step ? fmt::format("step {}", *view.first_step)
                                             : fmt::format("steps {} to {}", *view.first_step, *view.last_step);
}

std::string verdicts_text(const VerdictCounts& counts) {
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, std::string_view verdict) {
    if (count > 0) parts.push_back(fmt::format("{} {}", grouped(count), verdict));
  };
  add(counts.counted, "counted");
  add(counts.early, "early");
  add(counts.freed, "freed");
  add(counts.late, "late");
  add(counts.never, "never");
  add(counts.no_gather, "no_gather");
  add(counts.persistent, "persistent");
  add(counts.recycled, "recycled");
  add(counts.shared, "shared");
  add(counts.unknown, "unknown");
  add(counts.untracked, "untracked");
  return parts.empty() ? "no release" : joined(parts, ", ");
}

std::string heading(const ReplayView& view) {
  if (view.findings.empty()) return region_text(view);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < view.findings.size(); ++i) {
    std::string title = view.titles[i];
    std::transform(title.begin(), title.end(), title.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    lines.push_back(fmt::format("{}  {}", view.findings[i], title));
  }
  return joined(lines, "\n");
}

std::string outcome(const std::string& path, const ReplayView& view, const Style& style) {
  if (!view.difference) {
    return labelled("reproduced",
                    style.good(fmt::format("yes: {} ({}), allocated bytes at each of them{}, findings, peak",
                                           counted(view.releases, "verdict"), verdicts_text(view.recorded_verdicts),
                                           view.holders_known ? ", kinds of holders" : "")),
                    style);
  }
  const analyzer::ReplayDifference& difference = *view.difference;
  std::string where = difference.what;
  if (difference.release) {
    where += fmt::format(" of release {} of {}: id {} of graph {}", *difference.release + 1, view.releases,
                         view.differing_key->key, view.differing_key->graph);
  }
  std::string text = labelled("reproduced", style.bad("no, the first difference: " + where), style);
  text += labelled("", "recorded " + difference.recorded, style);
  text += labelled("", "replayed " + difference.replayed, style);
  if (!view.differing_storage) return text;
  return text + labelled("next",
                         fmt::format("dc-memtrace show storage {} {}", shell_word(path), view.differing_storage->value),
                         style);
}

std::string with_switches(const ReplayView& view, const Style& style) {
  std::string text = labelled("switches", joined(view.switches, ", "), style);
  text += labelled("verdicts",
                   fmt::format("{} → {}", verdicts_text(view.recorded_verdicts), verdicts_text(view.replayed_verdicts)),
                   style);
  std::string peak =
      fmt::format("{} → {}", exact_bytes(view.recorded_peak.value), exact_bytes(view.replayed_peak.value));
  if (view.frees_by_switch && view.predicted_peak) {
    peak += fmt::format("   predicted {}{}", exact_bytes(view.predicted_peak->value),
                        *view.predicted_peak == view.replayed_peak ? ": equal" : "");
  }
  return text + labelled("peak", peak, style);
}

}  // namespace

std::string reproduce_text(const model::ReproduceView& all, const Style& style) {
  std::string text;
  for (const ReplayView& view : all.replays) {
    if (!text.empty()) text += "\n";
    text += style.bold(heading(view)) + "\n";
    text += labelled("replayed",
                     fmt::format("{}: {}, {}, {} on {}", region_text(view), counted(view.gathers, "gather"),
                                 counted(view.release_events, "release"), counted(view.events, "event"),
                                 counted(view.threads, "thread")),
                     style);
    text += view.switches.empty() ? outcome(all.path, view, style) : with_switches(view, style);
    for (const std::string& note : view.notes) text += labelled("note", note, style);
  }
  return text;
}

}  // namespace dcmt::cli
