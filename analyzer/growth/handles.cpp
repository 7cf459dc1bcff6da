#include "analyzer/growth/handles.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "analyzer/growth/object_growth.h"

namespace dcmt::analyzer {
namespace {

/// Part of the readings in which the collection must have been found, up to the last ones.
constexpr double kLeastOfReadings = 0.4, kLastReadings = 0.9;

/// Python has all of these. Tensors and arrays are found by themselves.
constexpr std::array<std::string_view, 19> kWhole = {
    "int", "float",     "complex", "bool",  "NoneType", "str",    "bytes",  "tuple",     "list",   "dict",
    "set", "frozenset", "deque",   "slice", "function", "method", "Tensor", "Parameter", "ndarray"};

bool is_whole(std::string_view type) { return type.empty() || std::ranges::find(kWhole, type) != kWhole.end(); }

}  // namespace

std::optional<GrowingHandles> growing_handles(const TraceData& data) {
  std::map<StringId, std::vector<const Collection*>> by_path;
  std::map<ScanId, double> readings;  // those of collections, in order
  for (const Collection& each : data.owners.collections) {
    if (data.owners.scan(each.scan) == nullptr) continue;
    readings.try_emplace(each.scan, 0);
    by_path[each.path].push_back(&each);
  }
  double number = 0;
  for (auto& [scan, at] : readings) at = number++;
  std::optional<GrowingHandles> growing;
  for (auto& [path, found] : by_path) {
    std::ranges::stable_sort(found, {}, &Collection::scan);
    const Collection& last = *found.back();
    if (is_whole(data.text(last.entry_type)) || readings.at(last.scan) + 1 < kLastReadings * number ||
        static_cast<double>(found.size()) < kLeastOfReadings * number)
      continue;
    std::vector<EntriesAt> points;
    for (const Collection* each : found)
      points.push_back({readings.at(each->scan), static_cast<double>(each->entries)});
    if (!keeps_growing(points)) continue;
    if (growing) return std::nullopt;
    growing = {std::string(data.text(path)), std::string(data.text(last.entry_type)), last.entries};
  }
  return growing;
}

}  // namespace dcmt::analyzer
