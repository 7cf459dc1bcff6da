#include "analyzer/releases/lost_stretches.h"

#include <gtest/gtest.h>

#include <vector>

namespace dcmt::analyzer {
namespace {

Loss loss(std::int64_t from, std::int64_t to) {
  Loss loss;
  loss.from_seq = Sequence(from);
  loss.to_seq = Sequence(to);
  loss.count = 7;
  return loss;
}

TEST(LostStretches, OverlapAndAreSearched) {
  TraceData data;
  for (const Loss& one : {loss(10, 20), loss(12, 30), loss(13, 15), loss(50, 60)}) data.losses.push_back(one);
  const LostStretches lost(data);
  ASSERT_EQ(lost.all().size(), 2U);
  EXPECT_EQ(lost.all()[0].count, 21);
  EXPECT_EQ(lost.all()[1].from, Sequence(50));
  EXPECT_FALSE(lost.touch(Sequence(1), Sequence(9)));
  EXPECT_TRUE(lost.touch(Sequence(1), Sequence(10)));
  EXPECT_TRUE(lost.touch(Sequence(25), Sequence(27))) << "of the second one alone";
  EXPECT_TRUE(lost.touch(Sequence(29), Sequence(40)));
  EXPECT_FALSE(lost.touch(Sequence(30), Sequence(49))) << "the last record of a stretch is its end";
  EXPECT_TRUE(lost.touch(Sequence(30), Sequence())) << "to the end of the trace";
  EXPECT_FALSE(lost.touch(Sequence(60), Sequence()));
}

/// Blocks begin at the records 10, 20 and 30, a microsecond each apart.
TEST(LostStretches, WhereOnlyTheTimeIsKnownTheStretchBeginsWithTheLastBlockBeforeIt) {
  std::vector<Block> blocks(3);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i].span.from_seq = Sequence(static_cast<std::int64_t>(i + 1) * 10);
    blocks[i].span.from_ns = TimeNs(static_cast<std::int64_t>(i + 1) * 1000);
  }
  const auto begin = [&](std::int64_t ns, std::int64_t seq) {
    TraceData data;
    for (const Block& block : blocks) data.blocks_by_begin.add(block.span.from_seq, &block);
    Loss one = loss(seq, seq + 1);
    one.from_ns = TimeNs(ns);
    data.losses.push_back(one);
    const LostStretches lost(data);
    std::int64_t at = 1;
    while (at < 100 && !lost.touch(Sequence(at), Sequence(at))) ++at;
    return at;
  };
  EXPECT_EQ(begin(2500, 35), 20);
  EXPECT_EQ(begin(2000, 35), 20) << "the block had begun";
  EXPECT_EQ(begin(500, 35), 1) << "before the first one: from the begin on";
  EXPECT_EQ(begin(9000, 25), 25) << "not later than the record that says so";
}

TEST(LostStretches, OfSeveralInAnyOrderEachCounts) {
  TraceData data;
  for (const Loss& one : {loss(50, 60), loss(10, 20), loss(20, 22), loss(30, 31)}) data.losses.push_back(one);
  const LostStretches lost(data);
  EXPECT_TRUE(lost.touch(Sequence(12), Sequence(13)));
  EXPECT_TRUE(lost.touch(Sequence(20), Sequence(21)));
  EXPECT_FALSE(lost.touch(Sequence(22), Sequence(29)));
  EXPECT_TRUE(lost.touch(Sequence(22), Sequence(30)));
  EXPECT_TRUE(lost.touch(Sequence(55), Sequence(55)));
  EXPECT_FALSE(lost.touch(Sequence(31), Sequence(49)));
}

}  // namespace
}  // namespace dcmt::analyzer
