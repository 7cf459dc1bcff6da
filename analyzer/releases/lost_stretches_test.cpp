#include "analyzer/releases/lost_stretches.h"

#include <gtest/gtest.h>

namespace dcmt::analyzer {
namespace {

Loss loss(std::int64_t from, std::int64_t to) {
  Loss loss;
  loss.from_seq = Sequence(from);
  loss.to_seq = Sequence(to);
  return loss;
}

TEST(LostStretches, OverlapAndAreSearched) {
  TraceData data;
  for (const Loss& one : {loss(10, 20), loss(12, 30), loss(13, 15), loss(50, 60)}) data.losses.push_back(one);
  const LostStretches lost(data);
  EXPECT_FALSE(lost.touch(Sequence(1), Sequence(9)));
  EXPECT_TRUE(lost.touch(Sequence(1), Sequence(10)));
  EXPECT_TRUE(lost.touch(Sequence(25), Sequence(27))) << "of the second one alone";
  EXPECT_TRUE(lost.touch(Sequence(29), Sequence(40)));
  EXPECT_FALSE(lost.touch(Sequence(30), Sequence(49))) << "the last record of a stretch is its end";
  EXPECT_TRUE(lost.touch(Sequence(30), Sequence())) << "to the end of the trace";
  EXPECT_FALSE(lost.touch(Sequence(60), Sequence()));
}

}  // namespace
}  // namespace dcmt::analyzer
