#include "cli/curve_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/show_text.h"

namespace dcmt::cli {
namespace {

using model::CurveRow;

constexpr double kBarCells = 32;
constexpr TimeNs kLongRun(10'000'000'000);

/// A bar up to the lowest point of a row, continued to its highest.
std::string bar(const CurveRow& row) {
  const auto cells = [](double share) {
    return share > 0 ? std::max<std::size_t>(1, static_cast<std::size_t>(share * kBarCells)) : std::size_t{0};
  };
  std::string text;
  for (std::size_t i = 0; i < cells(row.highest_share); ++i) text += i < cells(row.lowest_share) ? "█" : "░";
  return text;
}

std::string steps_of(const std::optional<std::int64_t>& first, const std::optional<std::int64_t>& last) {
  if (!first || !last) return "-";
  return *first == *last ? std::to_string(*first) : fmt::format("{} to {}", *first, *last);
}

/// All rows use one unit; milliseconds below ten seconds.
std::string after_start(TimeNs ns, TimeNs length) {
  const bool long_run = length >= kLongRun;
  return fmt::format("{:.3f} {}", static_cast<double>(ns.value) * (long_run ? 1e-9 : 1e-6), long_run ? "s" : "ms");
}

}  // namespace

std::string curve_text(const model::CurveView& view, const Style& style) {
  if (view.devices.empty()) return "Nothing was allocated in this trace.\n";
  std::string text = style.bold(fmt::format("peak allocated  {}", style.bytes(view.of.peak))) + "   " + view.of.device +
                     (view.first_step ? " · step " + steps_of(view.first_step, view.last_step) : "") +
                     fmt::format(" · seq {}\n", grouped(view.of.peak_at.seq.value));
  Table table({"after start", "seq", "step", "lowest", "highest", ""}, {true, true, true, true, true, false});
  for (const CurveRow& row : view.rows) {
    table.add({after_start(row.after_start, view.length), grouped(row.from.seq.value),
               steps_of(row.first_step, row.last_step), (row.lowest_exact ? "" : "≤ ") + style.bytes(row.lowest),
               style.bytes(row.highest), bar(row) + (row.has_peak ? " ← peak" : "")});
  }
  text += table.empty() ? "Nothing was allocated up to there.\n" : table.text(style, "  ");
  if (!view.all_lowest_exact)
    text += "≤: between the windows that were kept, the curve may have been lower; its peaks are exact.\n";
  for (const model::CurveDevice& other : view.devices) {
    if (other.device != view.of.device) text += other_device_line(other.device, other.peak, style);
  }
  if (!view.stored) text += "This trace has no pyramid of its curve, because it is not finished: its rows were read.\n";
  return text;
}

}  // namespace dcmt::cli
