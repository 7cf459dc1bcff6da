#include "analyzer/ranks/ranks_alike.h"

#include <gtest/gtest.h>

#include "trace/base/quantities.h"

namespace dcmt::analyzer {
namespace {

RankFacts facts_of(std::int64_t rank, std::int64_t peak) {
  RankFacts facts;
  facts.path = "rank" + std::to_string(rank) + ".dcmt";
  facts.rank = facts.memory.rank = rank;
  facts.world_size = 6;
  facts.memory.peak = Bytes(peak);
  return facts;
}

std::vector<AlikeRanks> groups_of(std::vector<RankFacts> facts) {
  const Expected<RankComparison> comparison = compare_ranks(std::move(facts));
  EXPECT_TRUE(comparison.ok());
  return ranks_alike(*comparison);
}

TEST(RanksAlikeTest, WithoutADifferenceAllAreOneGroup) {
  const auto groups = groups_of({facts_of(0, 100 * kMiB), facts_of(1, 101 * kMiB), facts_of(2, 100 * kMiB)});
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].ranks, (Ranks{0, 1, 2}));
  EXPECT_EQ(groups[0].path, "rank0.dcmt");
}

TEST(RanksAlikeTest, WhatIsUsualIsLastAndTheHighestPeakFirst) {
  std::vector<RankFacts> facts;
  for (const std::int64_t rank : {0, 1, 2, 5}) facts.push_back(facts_of(rank, 100 * kMiB));
  facts.push_back(facts_of(3, 200 * kMiB));
  facts.push_back(facts_of(4, 300 * kMiB));
  facts[1].findings.push_back({{"grows", "aten::relu", "", "main.log"}, "grows", "train.py:9", Bytes(kMiB)});
  const auto groups = groups_of(facts);
  ASSERT_EQ(groups.size(), 4U);
  EXPECT_EQ(groups[0].ranks, (Ranks{4}));
  EXPECT_EQ(groups[1].ranks, (Ranks{3}));
  EXPECT_EQ(groups[2].ranks, (Ranks{1}));
  EXPECT_EQ(groups[2].path, "rank1.dcmt");
  EXPECT_EQ(groups[3].ranks, (Ranks{0, 2, 5}));
}

}  // namespace
}  // namespace dcmt::analyzer
