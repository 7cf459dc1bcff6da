#include "cli/curve_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/show_text.h"

namespace dcmt::cli {
namespace {

constexpr double kBarCells = 32;
constexpr TimeNs kLongRun(10'000'000'000);

/// A bar up to the lowest point of a row, continued to its highest.
std::string bar(double lowest, double highest) {
  const auto cells = [](double share) {
    return share > 0 ? std::max<std::size_t>(1, static_cast<std::size_t>(share * kBarCells)) : std::size_t{0};
  };
  std::string text;
  for (std::size_t i = 0; i < cells(highest); ++i) text += i < cells(lowest) ? "█" : "░";
  return text;
}

std::string steps_of(const std::optional<analyzer::StepRange>& steps) {
  if (!steps) return "-";
  return steps->first == steps->last ? std::to_string(steps->first)
                                     : fmt::format("{} to {}", steps->first, steps->last);
}

/// All rows use one unit; milliseconds below ten seconds.
std::string after_start(TimeNs ns, TimeNs length) {
  const bool long_run = length >= kLongRun;
  return fmt::format("{:.3f} {}", static_cast<double>(ns.value) * (long_run ? 1e-9 : 1e-6), long_run ? "s" : "ms");
}

}  // namespace

std::string curve_text(const model::CurveView& view, const Style& style) {
  const analyzer::CurveOverview& curve = view.curve;
  const analyzer::CurveStretch& whole = curve.device.whole;
  if (curve.devices.empty()) return "Nothing was allocated in this trace.\n";
  std::string text = style.bold(fmt::format("peak allocated  {}", style.bytes(curve.device.peak()))) + "   " +
                     curve.device.device + (curve.peak_steps ? " · step " + steps_of(curve.peak_steps) : "") +
                     fmt::format(" · seq {}\n", grouped(whole.highest_seq.value));
  Table table({"after start", "seq", "step", "lowest", "highest", ""}, {true, true, true, true, true, false});
  const TimeNs length = view.after_start(whole.to_ns);
  bool all_lowest_exact = true;
  for (const analyzer::CurveRow& row : curve.rows) {
    const analyzer::CurveStretch& of = row.stretch;
    all_lowest_exact = all_lowest_exact && !of.only_peaks;
    table.add({after_start(view.after_start(of.from_ns), length), grouped(of.from.value), steps_of(row.steps),
               (of.only_peaks ? "≤ " : "") + style.bytes(of.lowest), style.bytes(of.highest),
               bar(view.share_of_peak(of.lowest), view.share_of_peak(of.highest)) +
                   (of.highest_seq == whole.highest_seq ? " ← peak" : "")});
  }
  text += table.empty() ? "Nothing was allocated up to there.\n" : table.text(style, "  ");
  if (!all_lowest_exact)
    text += "≤: between the windows that were kept, the curve may have been lower; its peaks are exact.\n";
  for (const analyzer::DeviceCurve& other : curve.devices) {
    if (other.device != curve.device.device) text += other_device_line(other.device, other.peak(), style);
  }
  if (!curve.stored)
    text += "This trace has no pyramid of its curve, because it is not finished: its rows were read.\n";
  return text;
}

}  // namespace dcmt::cli
