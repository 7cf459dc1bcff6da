#include "cli/show_text.h"

#include <fmt/format.h>

#include <vector>

#include "cli/peak_text.h"
#include "render/wording/growth_parts.h"
#include "render/wording/story_words.h"
#include "trace/base/shell_words.h"

namespace dcmt::cli {
namespace {

using model::DevicePeak;
using model::Release;

constexpr std::size_t kMostGroups = 20;

std::string flags_text(const Release& release) {
  std::vector<std::string> words;
  if (release.metadata_only()) words.emplace_back("metadata only");
  if (release.residual()) words.emplace_back("residual");
  if (release.mismatch()) words.emplace_back("count mismatch");
  if (release.unwound()) words.emplace_back("operator threw");
  return joined(words, ", ");
}

std::string bytes_or_dash(const std::optional<Bytes>& bytes) { return bytes ? grouped(bytes->value) : "-"; }

template <class Number>
std::string number_or_dash(const std::optional<Number>& number) {
  if constexpr (std::is_integral_v<Number>) {
    return number ? std::to_string(*number) : "-";
  } else {
    return number ? std::to_string(number->value) : "-";
  }
}

}  // namespace

std::string point_text(const std::string& at) {
  if (at == "peak") return "at the peak";
  if (at == "end") return "at the end of the recording";
  if (at == "exit") return "after the last allocation";
  if (at.starts_with("step:")) return "at the end of step " + at.substr(5);
  if (at == "oom" || at.starts_with("oom#")) return "when memory ran out";
  if (at.find_first_not_of("0123456789") == std::string::npos) return "then";
  return "at the end of " + (at.starts_with("mark:") ? at.substr(5) : at);
}

std::string other_device_line(std::string_view device, Bytes peak, const Style& style) {
  return fmt::format("also allocated on {}: peak {}; see --device {}\n", device, style.bytes(peak), device);
}

std::string peak_text(const model::PeakView& view, const Grouping& by, const Style& style) {
  const model::LivePeak& peak = view.peak;
  if (!peak.at) return "Nothing was allocated in this trace.\n";
  std::string text = style.bold(fmt::format("peak allocated  {}", style.bytes(peak.bytes))) + "   " +
                     where_of_peak(peak) + fmt::format(" · seq {}\n", grouped(peak.at->seq.value));
  if (peak.dead_bytes.value > 0) {
    text += fmt::format("  needed {} · dead but held {} · predicted without it {}{}\n", style.bytes(peak.needed_bytes),
                        style.bytes(peak.dead_bytes), wording::bound_text(peak.predicted_as),
                        style.bytes(peak.predicted_bytes));
    if (peak.last_use_known) {
      text += fmt::format("  with what was read after its release freed at its last known use: {}\n",
                          style.bytes(peak.predicted_last_use_bytes));
    }
  }
  text += live_table(peak.live, by, kMostGroups, view.path, style);
  for (const DevicePeak& other : view.others) text += other_device_line(other.device.value_or(""), other.bytes, style);
  return text;
}

std::string live_text(const model::LiveView& view, const Grouping& by, const Style& style) {
  const auto blocks = static_cast<std::int64_t>(view.blocks().size());
  std::string text = style.bold(fmt::format("alive {}  {} in {}", point_text(view.at), style.bytes(view.bytes()),
                                            counted(blocks, "block"))) +
                     fmt::format("   seq {}", grouped(view.at_seq.value));
  const bool says_step = view.at.starts_with("step:");  // the end of a step is the begin of the next one
  if (view.step && !says_step) text += fmt::format(" · step {}", *view.step);
  if (view.phase && !says_step) text += fmt::format(" · {}", *view.phase);
  text += "\n";
  if (blocks == 0) return text;
  return text + live_table(view.live, by, kMostGroups, view.path, style);
}

std::string releases_text(const model::ReleasesView& view, const Style& style) {
  if (view.releases.empty()) return "No release in this trace.\n";
  Table table({"step", "operator", "graph", "id", "cycle", "uses left", "before", "after", "next op", "verdict",
               "gone after", "", "storage"},
              {true, false, true, true, true, true, true, true, true, false, false, false, true});
  for (const Release& release : view.releases) {
    table.add({number_or_dash(release.step()), std::string(release.operator_name()), release.graph_name(),
               std::to_string(release.key().key), std::to_string(release.cycle()), number_or_dash(release.remaining()),
               bytes_or_dash(release.bytes_before()), bytes_or_dash(release.bytes_after()),
               bytes_or_dash(release.bytes_settled()), wording::verdict_text(release.verdict()),
               wording::gone_after(release), flags_text(release), number_or_dash(release.storage())});
  }
  return table.text(style, "") + fmt::format(
                                     "{}: {} persistent, {} without a final release. All details: --json; one storage: "
                                     "dc-memtrace show storage "
                                     "{} ID\n",
                                     counted(static_cast<std::int64_t>(view.cycles.size()), "gather"),
                                     view.persistent_cycles, view.open_cycles, shell_word(view.path));
}

}  // namespace dcmt::cli
