#include "analyzer/ranks/ranks_apart.h"

#include <gtest/gtest.h>

#include "trace/base/quantities.h"

namespace dcmt::analyzer {
namespace {

std::string text_of(const std::vector<RankApart>& apart) {
  std::string text;
  for (const RankApart& each : apart) {
    text += std::to_string(each.rank) + ":";
    for (const std::string& in : each.in) text += " " + in;
    text += "\n";
  }
  return text;
}

MemoryDifference peaks(const std::vector<std::pair<Ranks, std::int64_t>>& sides) {
  MemoryDifference memory;
  for (const auto& [ranks, mib] : sides) memory.peaks.push_back({ranks, Bytes(mib * kMiB)});
  return memory;
}

TEST(RanksApart, FewerRanksThanTheUsualOnes) {
  RankComparison comparison;
  EXPECT_EQ(text_of(ranks_apart(comparison)), "");
  comparison.memory = peaks({{{2}, 90}, {{0, 1, 3}, 50}});
  EXPECT_EQ(text_of(ranks_apart(comparison)), "2: peak\n");
  comparison.memory = peaks({{{0, 1, 3}, 90}, {{2}, 50}});
  EXPECT_EQ(text_of(ranks_apart(comparison)), "2: peak\n") << "less than the others is apart, too";
  comparison.memory = peaks({{{1}, 90}, {{0}, 50}});
  EXPECT_EQ(text_of(ranks_apart(comparison)), "1: peak\n") << "of two, the higher one";
}

TEST(RanksApart, EachDifferenceOnce) {
  RankComparison comparison;
  comparison.order = GatherDivergence{};
  comparison.order->branches = {{.ranks = {0, 1}, .key = {}, .place = {}, .at = {}, .next = {}},
                                {.ranks = {2}, .key = {}, .place = {}, .at = {}, .next = {}}};
  comparison.residual = {{Key{0, 1}, {{{0}, Fate::kFreed, {}}, {{1}, Fate::kResidual, Bytes(8)}}},
                         {Key{0, 2}, {{{1}, Fate::kResidual, Bytes(8)}, {{0}, Fate::kFreed, {}}}}};
  comparison.findings = {{"release keeps storage", "", {{{1}, Bytes(8)}}, {0, 2}},
                         {"grows", "", {{{0, 1}, Bytes(8)}}, {2}}};
  EXPECT_EQ(text_of(ranks_apart(comparison)), "1: residual parameters findings\n2: gathers findings\n");
  comparison = {};
  comparison.order = GatherDivergence{};
  comparison.order->branches = {{.ranks = {0}, .key = {}, .place = {}, .at = {}, .next = {}},
                                {.ranks = {1}, .key = {}, .place = {}, .at = {}, .next = {}}};
  EXPECT_EQ(text_of(ranks_apart(comparison)), "") << "which of two orders is the right one nobody can say";
}

}  // namespace
}  // namespace dcmt::analyzer
