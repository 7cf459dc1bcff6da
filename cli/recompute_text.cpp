// The peak with activation checkpointing, as printed by `show recompute`.
#include <fmt/format.h>

#include <algorithm>

#include "cli/show_text.h"

namespace dcmt::cli {
namespace {

constexpr std::size_t kMostChoices = 12;
constexpr double kWorthwhile = 0.01, kMuch = 0.05;  // of the peak

}  // namespace

std::string recompute_text(const model::RecomputeView& view, const Style& style) {
  const double small = static_cast<double>(view.small.value) / static_cast<double>(view.peak.value);
  const auto less = [&](const analyzer::Recompute& choice) {
    return 1 - static_cast<double>(choice.peak.value) / static_cast<double>(view.peak.value);
  };
  std::string where(view.device.value_or("nothing was allocated"));
  if (view.step) where += fmt::format(" · step {}", *view.step);
  if (view.phase) where += fmt::format(" · {}", *view.phase);
  std::string text = style.bold("peak allocated   " + style.bytes(view.peak)) + "   " + where + "\n";
  if (small >= kMuch) {
    text += fmt::format(
        "{} of it are in allocations under 64 KiB, whose module is not known: they stay in each prediction.\n"
        "run --detail full follows them.\n",
        style.bytes(view.small));
  }
  if (view.choices.empty()) {
    return text + "No call of a torch.nn.Module was seen that keeps memory for a backward.\n";
  }
  Table table({"predicted", "less", "not kept", "runs again", "modules", "computed again in the backward"},
              {true, true, true, true, true, false});
  std::size_t rows = 0;
  for (const analyzer::Recompute& choice : view.choices) {
    if (less(choice) < kWorthwhile || rows == kMostChoices) break;
    ++rows;
    table.add({style.bytes(choice.peak), percent(less(choice), 0), style.bytes(choice.saved),
               choice.again ? duration(choice.again->value) : "", grouped(choice.instances), choice.modules});
  }
  if (rows == 0) return text + "To compute modules again in the backward lowers the peak by less than 1 %.\n";
  text += table.text(style, "  ");
  if (view.step_time && view.choices.front().again) {
    text += fmt::format("  The step of the peak took {}.\n", duration(view.step_time->value));
  }
  return text + "  Each row is for itself: torch.utils.checkpoint around each call of these modules.\n";
}

}  // namespace dcmt::cli
