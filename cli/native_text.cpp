// What C and C++ allocate, as printed by `show native`.
#include <fmt/format.h>

#include <algorithm>

#include "cli/show_text.h"
#include "render/wording/native_words.h"

namespace dcmt::cli {
namespace {

constexpr std::size_t kMostPlaces = 24;

std::string interval_text(const analyzer::NativeEstimate& estimate, const Style& style) {
  return fmt::format("{} to {}", style.bytes(estimate.low), style.bytes(estimate.high));
}

}  // namespace

std::string native_text(const model::NativeView& view, const Style& style) {
  if (!view.interval)
    return "Allocations of C and C++ were not sampled: dc-memtrace run --native, or attach --native.\n";
  std::string text = fmt::format("{} alive at the end beside torch's allocator, by {} (95 %: {}); one for each {}\n",
                                 style.bytes(view.live.bytes), counted(view.live.samples, "sampled allocation"),
                                 interval_text(view.live, style), style.bytes(*view.interval));
  if (view.missed != 0) {
    text += fmt::format("{} could not be followed to their end, and are not counted\n",
                        counted(view.missed, "further one"));
  }
  Table table({"alive", "95 %", "highest", "allocated", "where"}, {true, true, true, true, false});
  for (std::size_t i = 0; i < std::min(kMostPlaces, view.places.size()); ++i) {
    const model::NativeUse& each = view.places[i];
    table.add({style.bytes(each.live.bytes), interval_text(each.live, style), style.bytes(each.highest),
               style.bytes(each.made),
               wording::native_place_text(each.place) + (each.place.python ? "   " + *each.place.python : "")});
  }
  text += table.text(style, "  ");
  if (view.places.size() > kMostPlaces) {
    text += fmt::format("  {} more: --json\n", grouped(static_cast<std::int64_t>(view.places.size() - kMostPlaces)));
  }
  return text;
}

}  // namespace dcmt::cli
