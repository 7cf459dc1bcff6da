#include "analyzer/growth/small_counted.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

/// A program of steps. Each makes what `made` says, and keeps it: some at a line, with so many bytes. It is of use
/// until the step ends.
class KeepingProgram {
 public:
  KeepingProgram(int steps, const std::function<void(KeepingProgram&, int)>& made) {
    for (int i = 0; i < steps; ++i) {
      kept_.clear();
      made(*this, i);
      trace_.step(i);
      const Sequence end(trace_.last_seq());
      for (const Kept& each : kept_) storages_.push_back({trace_.storage_id(each.handle), each.bytes, end, true, true});
      ends_.push_back(end);
    }
    data_ = trace_.load();
  }
  void kept_at(std::int64_t line, std::int64_t bytes) {
    trace_.stack = {{"train.py", "main", line}};
    kept_.push_back({trace_.allocate(bytes), Bytes(bytes)});
  }
  /// What is of no use any more at the end of each step.
  [[nodiscard]] std::vector<std::int64_t> counted(std::int64_t bytes, int read_in) const {
    const SmallCounted counted(data_, Rounds::steps(data_), storages_, bytes, ends_[read_in]);
    std::vector<std::int64_t> at_ends;
    for (const Sequence end : ends_) {
      std::int64_t kept = 0;
      for (const SmallCounted::Kept& each : counted.kept()) {
        if (each.from <= end) kept = each.bytes;
      }
      at_ends.push_back(kept);
    }
    return at_ends;
  }
  [[nodiscard]] std::vector<SmallCounted::Kept> kept(std::int64_t bytes) const {
    return SmallCounted(data_, Rounds::steps(data_), storages_, bytes, ends_.back()).kept();
  }
  std::vector<GrowingStorage> storages_;
  std::vector<Sequence> ends_;

 private:
  struct Kept {
    TestTrace::Handle handle;
    Bytes bytes;
  };
  TestTrace trace_;
  std::vector<Kept> kept_;
  TraceData data_;
};

using AtEnds = std::vector<std::int64_t>;

TEST(SmallCounted, WhatNeverHasRowsComesWithWhatHas) {
  const KeepingProgram program(6, [](KeepingProgram& made, int) { made.kept_at(7, 100000); });
  EXPECT_EQ(program.counted(600, 5), (AtEnds{100, 200, 300, 400, 500, 600}));
  EXPECT_EQ(program.counted(400, 3), (AtEnds{100, 200, 300, 400, 500, 600})) << "it goes on behind the reading";
}

TEST(SmallCounted, WhatHasRowsLateWasMadeBefore) {
  const KeepingProgram program(8, [](KeepingProgram& made, int step) {
    made.kept_at(7, 100000);
    if (step >= 4) made.kept_at(8, 1000);
  });
  EXPECT_EQ(program.counted(4000, 7), (AtEnds{1000, 2000, 3000, 4000, 4000, 4000, 4000, 4000}));
}

TEST(SmallCounted, AHolderOfSmallOnesMayHaveBegunLater) {
  const KeepingProgram program(8, [](KeepingProgram& made, int step) {
    if (step >= 4) made.kept_at(8, 1000);
  });
  EXPECT_EQ(program.counted(4000, 7), (AtEnds{1000, 2000, 3000, 4000, 4000, 4000, 4000, 4000}));
  EXPECT_EQ(program.counted(2000, 7), (AtEnds{0, 0, 1000, 2000, 2000, 2000, 2000, 2000}));
  EXPECT_EQ(program.counted(8000, 7), (AtEnds{2000, 4000, 6000, 8000, 8000, 8000, 8000, 8000})) << "more in each then";
}

TEST(SmallCounted, OfEverySecondStepItIsEverySecondStepBefore) {
  const KeepingProgram program(12, [](KeepingProgram& made, int step) {
    if (step >= 4 && step % 2 == 0) made.kept_at(8, 1000);
  });
  EXPECT_EQ(program.counted(2000, 11),
            (AtEnds{1000, 1000, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000}));
}

TEST(SmallCounted, WithWhatHasRowsFromTheBeginThereMayBeLessOfEachBefore) {
  const KeepingProgram program(8, [](KeepingProgram& made, int step) {
    made.kept_at(7, 100000);
    if (step >= 4) made.kept_at(8, 1000);
  });
  EXPECT_EQ(program.counted(2000, 7), (AtEnds{500, 1000, 1500, 2000, 2000, 2000, 2000, 2000}));
}

/// The step in which the size gets rows has made two of three by then.
TEST(SmallCounted, TheFirstRoundWithRowsIsNoMeasure) {
  const KeepingProgram program(8, [](KeepingProgram& made, int step) {
    for (int i = 0; i < (step > 4 ? 3 : step == 4 ? 1 : 0); ++i) made.kept_at(8, 1000);
  });
  EXPECT_EQ(program.counted(12000, 7)[3], 12000);
  EXPECT_EQ(program.counted(12000, 7)[0], 3000);
}

/// In early steps only what is large has rows: the same number of records is another part of the step.
TEST(SmallCounted, UseEndsWhereTheProgramIsAtTheSamePoint) {
  KeepingProgram program(8, [&](KeepingProgram& made, int step) {
    if (step >= 4) made.kept_at(8, 1000);
    for (int i = 0; i < (step < 4 ? 1 : 9); ++i) made.kept_at(20, 70000);
    made.kept_at(21, 70000);
  });
  for (GrowingStorage& each : program.storages_) {
    if (each.bytes == Bytes(1000)) each.needed_until = Sequence(each.needed_until.value - 1);
  }
  // The small ones alone: each is of use until what line 21 makes is there.
  std::erase_if(program.storages_, [](const GrowingStorage& each) { return each.bytes != Bytes(1000); });
  const std::vector<SmallCounted::Kept> kept = program.kept(4000);
  ASSERT_GE(kept.size(), 4u);
  for (int step = 0; step < 4; ++step) EXPECT_EQ(kept[step].from, Sequence(program.ends_[step].value - 1)) << step;
}

TEST(SmallCounted, WhatIsOfUseToTheEndIsNotKept) {
  KeepingProgram program(6, [](KeepingProgram& made, int) { made.kept_at(7, 100000); });
  for (GrowingStorage& each : program.storages_) each.needed_until = {};
  EXPECT_EQ(program.counted(600, 5), (AtEnds{0, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace dcmt::analyzer
