// Who holds storages, as printed by `show holders`.
#include <fmt/format.h>

#include "cli/show_text.h"
#include "render/wording/holder_words.h"
#include "render/wording/story_words.h"

namespace dcmt::cli {
namespace {

constexpr std::size_t kMostPaths = 20;

std::string containers_text(const std::vector<model::HoldingContainer>& containers, const Style& style) {
  if (containers.empty()) return {};
  Table table({"bytes", "storages", "alone", "in entries of"}, {true, true, true, false});
  for (const model::HoldingContainer& each : containers) {
    table.add({style.bytes(each.bytes), grouped(each.storages), style.bytes(each.alone),
               wording::held_text(each.path, each.place, each.type)});
  }
  return table.text(style, "  ") + "\n";
}

std::string paths_text(const std::vector<model::HoldingPath>& paths, const Style& style) {
  if (paths.empty()) return {};
  Table table({"bytes", "storages", "found", "still", "held by"}, {true, true, false, false, false});
  for (std::size_t i = 0; i < paths.size() && i < kMostPaths; ++i) {
    const model::HoldingPath& each = paths[i];
    table.add({style.bytes(each.bytes), grouped(each.storages), wording::reading_text(each.found),
               wording::reading_text(each.still),
               wording::placed(each.path, each.place) + (each.confirmed ? "" : "   (changed while it was read)")});
  }
  std::string text = table.text(style, "  ");
  if (paths.size() > kMostPaths) {
    text += fmt::format("  and {}; all of them: --json\n",
                        counted(static_cast<std::int64_t>(paths.size() - kMostPaths), "more path"));
  }
  return text;
}

}  // namespace

std::string holders_text(const model::HoldersView& view, const Style& style) {
  std::string text =
      style.bold(fmt::format("{}   {}, {}", view.of, counted(view.storages, "storage"), style.bytes(view.bytes))) +
      fmt::format("   the memory was read {}\n", counted(view.readings, "time"));
  text += containers_text(view.containers, style) + paths_text(view.paths, style);
  if (view.readings == 0) return text + "The memory was not read while they were there: their holders are not known.\n";
  if (view.later != 0) {
    text += fmt::format("{} ({}) made after the last reading.\n", counted(view.later, "storage"),
                        style.bytes(view.later_bytes));
  }
  if (view.not_found != 0) {
    text += fmt::format("No reading found a holder of {} ({}): gone by then, not reached, or held by C++ alone.\n",
                        counted(view.not_found, "older storage"), style.bytes(view.not_found_bytes));
  }
  return text;
}

}  // namespace dcmt::cli
