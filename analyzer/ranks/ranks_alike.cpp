#include "analyzer/ranks/ranks_alike.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <utility>

namespace dcmt::analyzer {
namespace {

/// The side of each difference on which a rank is.
class Sides {
 public:
  explicit Sides(const RankComparison& comparison) {
    for (const RankFacts& facts : comparison.ranks) sides_[facts.rank];
    if (comparison.memory) add(peaks_apart(*comparison.memory));
    if (comparison.order) add(comparison.order->branches);
    for (const ParameterDifference& each : comparison.parameters) add(each.sides);
    for (const ResidualDifference& each : comparison.residual) add(each.sides);
    for (const FindingDifference& each : comparison.findings) add(std::vector{BytesOfRanks{each.without, {}}});
  }

  [[nodiscard]] const std::vector<std::size_t>& of(std::int64_t rank) const { return sides_.at(rank); }

 private:
  template <class Side>
  void add(const std::vector<Side>& sides) {
    for (auto& [rank, own] : sides_) own.push_back(sides.size());  // on no side
    for (std::size_t i = 0; i < sides.size(); ++i) {
      for (const std::int64_t rank : sides[i].ranks) sides_.at(rank).back() = i;
    }
  }

  std::map<std::int64_t, std::vector<std::size_t>> sides_;
};

}  // namespace

std::vector<AlikeRanks> ranks_alike(const RankComparison& comparison) {
  const Sides sides(comparison);
  std::map<std::vector<std::size_t>, AlikeRanks> by_sides;
  for (const RankFacts& facts : comparison.ranks) {
    AlikeRanks& group = by_sides[sides.of(facts.rank)];
    if (group.ranks.empty()) group.path = facts.path;
    group.ranks.push_back(facts.rank);
    group.peak = std::max(group.peak, facts.memory.peak);
  }
  std::vector<AlikeRanks> groups;
  for (auto& [of, group] : by_sides) groups.push_back(std::move(group));
  std::ranges::stable_sort(groups, std::greater<>(), &AlikeRanks::peak);
  const auto usual = std::ranges::max_element(groups, {}, [](const AlikeRanks& group) { return group.ranks.size(); });
  if (usual != groups.end()) std::rotate(usual, usual + 1, groups.end());
  return groups;
}

}  // namespace dcmt::analyzer
