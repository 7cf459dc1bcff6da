#include "analyzer/growth/keyed_use.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

namespace dcmt::analyzer {
namespace {

enum class Part { kKey, kByKey };

/// "state.key(<Parameter>)" is a key, "state[<Parameter>]['step']" is there by one. nullopt: neither.
std::optional<Part> part_of(std::string_view path) {
  constexpr std::string_view kKey = ".key(<", kEntry = "[<";
  const std::size_t key = path.rfind(kKey);
  if (key != std::string_view::npos) {
    const bool ends = path.ends_with(">)") && path.find(')', key) + 1 == path.size();
    return ends ? std::optional(Part::kKey) : std::nullopt;
  }
  return path.find(kEntry) != std::string_view::npos ? std::optional(Part::kByKey) : std::nullopt;
}

}  // namespace

void need_as_long_as_keys(const TraceData& data, Growth& growth) {
  std::map<StackId, Part> parts;  // by place: what was not read is as the others
  const auto place_of = [&](const GrowingStorage& each) { return data.storages.find(each.storage)->birth.stack; };
  for (const GrowingStorage& each : growth.storages) {
    for (const OwnerPath& path : data.owners.paths_to(each.storage)) {
      const std::optional<Part> part = path.confirmed ? part_of(data.text(path.path)) : std::nullopt;
      if (part) parts.try_emplace(place_of(each), *part);
    }
  }
  Sequence keys_until;
  bool are_needed = false;  // to the end of the run
  for (GrowingStorage& each : growth.storages) {
    const auto part = parts.find(place_of(each));
    if (part == parts.end()) continue;
    if (part->second == Part::kKey) {
      are_needed = !each.needed_until.valid();
      keys_until = each.needed_until;
    } else if (are_needed) {
      each.needed_until = {};
      each.frees = each.alone = false;
    } else if (each.needed_until.valid()) {
      each.needed_until = std::max(each.needed_until, keys_until);
    }
  }
}

}  // namespace dcmt::analyzer
