// The peak with activation checkpointing, as printed by `show recompute`.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

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
  const bool has_times = view.choices.front().again.has_value();
  std::vector<std::string> heads{"predicted", "less", "not kept", "modules"};
  std::vector<bool> right_aligned(heads.size(), true);
  if (has_times) {
    heads.emplace_back("runs again");
    right_aligned.push_back(true);
  }
  heads.emplace_back("computed again in the backward");
  right_aligned.push_back(false);
  Table table(std::move(heads), std::move(right_aligned));
  std::size_t rows = 0;
  for (const analyzer::Recompute& choice : view.choices) {
    if (less(choice) < kWorthwhile || rows == kMostChoices) break;
    ++rows;
    std::vector<std::string> cells{style.bytes(choice.peak), percent(less(choice), 0), style.bytes(choice.saved),
                                   grouped(choice.instances)};
    if (has_times) cells.push_back(duration(choice.again->value));
    cells.push_back(choice.modules);
    table.add(std::move(cells));
  }
  if (rows == 0) return text + "To compute modules again in the backward lowers the peak by less than 1 %.\n";
  text += table.text(style, "  ");
  if (view.step_time && has_times) {
    text += fmt::format("  The step of the peak took {}.\n", duration(view.step_time->value));
  }
  return text + "  Each row is for itself: torch.utils.checkpoint around each call of these modules.\n";
}

}  // namespace dcmt::cli
