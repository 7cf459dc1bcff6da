#include "analyzer/compare/trainers.h"

#include <map>
#include <utility>

namespace dcmt::analyzer {

std::pair<std::int64_t, Bytes> work_of(const MemoryFacts& process) {
  return {process.steps, process.devices.empty() ? Bytes() : process.devices.front().peak};
}

Trainers trainers_of(std::vector<MemoryFacts> processes) {
  // The others are workers that load data, or similar: they may have their parent's rank, and usually end by a signal.
  Trainers trainers;
  std::map<std::int64_t, MemoryFacts> by_rank;
  for (MemoryFacts& process : processes) {
    const auto at = by_rank.find(process.rank);
    if (at == by_rank.end()) {
      by_rank.emplace(process.rank, std::move(process));
      continue;
    }
    if (work_of(process) > work_of(at->second)) std::swap(process, at->second);
    trainers.left_out.push_back(std::move(process.path));
  }
  if (const auto none = by_rank.find(-1); none != by_rank.end() && by_rank.size() > 1) {
    trainers.left_out.push_back(std::move(none->second.path));
    by_rank.erase(none);
  }
  for (auto& [rank, process] : by_rank) trainers.ranks.push_back(std::move(process));
  return trainers;
}

}  // namespace dcmt::analyzer
