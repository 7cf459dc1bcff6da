#include "analyzer/growth/same_ways.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/source/holder_path.h"
#include "trace/base/cycle_text.h"

namespace dcmt::analyzer {
namespace {

/// Of the storages that were read.
constexpr double kNearlyAll = 0.9;
/// Of those that grow, so many were read.
constexpr double kMostWereRead = 0.5;

/// Without entries. Empty: no reading found one, or not all are known. Of what is an entry itself, readings count the
/// references: something that they did not find has it, too.
std::set<std::string> ways_to(const TraceData& data, StorageId storage, std::string_view holder) {
  std::set<std::string> ways;
  const auto paths = data.owners.paths_to(storage);
  for (const OwnerPath& path : paths) {
    if (path.last_scan < paths.front().last_scan) continue;  // a former one
    const std::string_view text = data.text(path.path);
    if (!path.confirmed || cycle_text::is_cycle(text)) return {};
    std::string way = without_entries(text);
    if (way == without_entries(holder)) return {};
    ways.insert(std::move(way));
  }
  return ways;
}

}  // namespace

void free_what_the_same_ways_lead_to(const TraceData& data, bool in_container, Growth& growth) {
  std::map<StorageId, std::set<std::string>> read;
  std::map<std::string, std::size_t> leads_to;
  for (const GrowingStorage& each : growth.storages) {
    std::set<std::string> ways = ways_to(data, each.storage, in_container ? growth.holder : std::string_view());
    if (ways.empty()) continue;
    for (const std::string& way : ways) ++leads_to[way];
    read.emplace(each.storage, std::move(ways));
  }
  if (static_cast<double>(read.size()) < kMostWereRead * static_cast<double>(growth.storages.size())) return;
  const double most = kNearlyAll * static_cast<double>(read.size());
  const auto are_of_all = [&](const std::set<std::string>& ways) {
    return std::ranges::all_of(ways,
                               [&](const std::string& way) { return static_cast<double>(leads_to[way]) >= most; });
  };
  const auto count = std::ranges::count_if(read, [&](const auto& each) { return are_of_all(each.second); });
  if (static_cast<double>(count) < most) return;
  for (GrowingStorage& each : growth.storages) {
    const auto ways = read.find(each.storage);
    const bool goes = ways == read.end() || are_of_all(ways->second);
    each.frees |= goes && each.needed_until.valid();
  }
}

}  // namespace dcmt::analyzer
