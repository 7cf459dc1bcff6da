#include "analyzer/ranks/ranks_apart.h"

#include <algorithm>
#include <map>
#include <optional>

namespace dcmt::analyzer {
namespace {

class Apart {
 public:
  void add(const Ranks& ranks, const char* in) {
    for (const std::int64_t rank : ranks) {
      std::vector<std::string>& known = by_rank_[rank];
      if (std::ranges::count(known, in) == 0) known.emplace_back(in);
    }
  }

  /// Adds all sides except the one with most ranks. `common` chooses among several with equally many ranks; if it
  /// chooses none, nothing is added.
  template <class Side, class IsCommon>
  void add_sides(const std::vector<Side>& sides, const char* in, const IsCommon& common) {
    std::size_t most = 0;
    for (const Side& side : sides) most = std::max(most, side.ranks.size());
    const Side* usual = nullptr;
    std::size_t equals = 0;
    for (const Side& side : sides) {
      if (side.ranks.size() != most) continue;
      ++equals;
      if (usual == nullptr || common(side)) usual = &side;
    }
    if (usual == nullptr || (equals > 1 && !common(*usual))) return;
    for (const Side& side : sides) {
      if (&side != usual) add(side.ranks, in);
    }
  }

  [[nodiscard]] std::vector<RankApart> found() const {
    std::vector<RankApart> found;
    for (const auto& [rank, in] : by_rank_) found.push_back({rank, in});
    return found;
  }

 private:
  std::map<std::int64_t, std::vector<std::string>> by_rank_;
};

}  // namespace

std::vector<RankApart> ranks_apart(const RankComparison& comparison) {
  Apart apart;
  if (comparison.memory) {
    const std::vector<BytesOfRanks> peaks = peaks_apart(*comparison.memory);  // the highest first: the last is usual
    apart.add_sides(peaks, "peak", [](const BytesOfRanks& /*side*/) { return true; });
  }
  if (comparison.order) {
    apart.add_sides(comparison.order->branches, "gathers", [](const auto& /*branch*/) { return false; });
  }
  for (const ParameterDifference& each : comparison.parameters) {
    apart.add_sides(each.sides, "parameters", [](const auto& /*side*/) { return false; });
  }
  for (const ResidualDifference& each : comparison.residual) {
    apart.add_sides(each.sides, "residual parameters", [](const auto& side) { return side.fate != Fate::kResidual; });
  }
  for (const FindingDifference& each : comparison.findings) {
    Ranks with;
    for (const BytesOfRanks& side : each.with) with.insert(with.end(), side.ranks.begin(), side.ranks.end());
    apart.add(with.size() > each.without.size() ? each.without : with, "findings");
  }
  return apart.found();
}

}  // namespace dcmt::analyzer
