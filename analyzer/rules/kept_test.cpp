#include "analyzer/rules/kept.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::HeldOf;
using testing::TestTrace;
using Handle = TestTrace::Handle;

constexpr std::int64_t kWeights = 5000;

/// Four steps of one matrix each. Step `made` makes `bytes` that stay, or go in step 3 after its peak, held as `of`
/// says.
TraceData run(int made, const HeldOf& of, std::int64_t bytes, bool stays) {
  TestTrace trace;
  trace.stack = {{"train.py", "train", 7}};
  trace.allocate(kWeights);
  std::optional<Handle> kept;
  for (int i = 0; i < 4; ++i) {
    if (i == made) {
      trace.stack = {{"metric.py", "compute", 9}};
      kept = trace.allocate(bytes);
      trace.held(*kept, of);
      trace.stack = {{"train.py", "train", 7}};
    }
    const Handle matrix = trace.allocate(i == 3 ? 2000 : 100);
    trace.drop(matrix);
    if (i == 3 && !stays) trace.drop(*kept);
    trace.step(i);
  }
  return trace.load();
}

std::vector<Remark> kept_of(int made, const HeldOf& of, std::int64_t bytes = 1000, bool stays = false) {
  const TraceData data = run(made, of, bytes, stays);
  std::vector<Remark> remarks = analyze(data).remarks;
  std::erase_if(remarks, [](const Remark& remark) { return remark.kind != RemarkKind::kKept; });
  return remarks;
}

const HeldOf kAttribute = {.path = "main: metric._computed", .otherwise = true};

TEST(Kept, WithoutStepsWhatEarlierCallsMadeIsSaid) {
  TestTrace trace;
  trace.stack = {{"serve.py", "load", 3}};
  trace.allocate(kWeights);
  for (int i = 0; i < 8; ++i) {
    trace.stack = {{"serve.py", "serve", 7}};
    const Handle input = trace.allocate(100);
    trace.stack = {{"serve.py", "serve", 8}};
    const Handle result = trace.allocate(500);
    if (i < 3) trace.held(result, {.containers = {"main.results"}, .path = "main.results[0]"});
    if (i >= 3) trace.drop(result);
    trace.drop(input);
  }
  const TraceData data = trace.load();
  std::vector<Remark> remarks = analyze(data).remarks;
  std::erase_if(remarks, [](const Remark& remark) { return remark.kind != RemarkKind::kKept; });
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_TRUE(remarks.front().by_calls);
  EXPECT_EQ(remarks.front().holder, "main.results");
  EXPECT_EQ(remarks.front().bytes, Bytes(2 * 500)) << "the first call sets up";
}

TEST(Kept, WhatAnEarlierStepMadeIsSaidWithItsHolder) {
  const std::vector<Remark> remarks = kept_of(1, kAttribute);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks.front().holder, "main: metric._computed");
  EXPECT_EQ(remarks.front().bytes, Bytes(1000));
  EXPECT_EQ(remarks.front().count, 1);
  EXPECT_EQ(remarks.front().steps, 2);
  EXPECT_EQ(remarks.front().text(),
            "main: metric._computed held 1,000 B at the peak, made up to 2 steps before (1 storage, from metric.py:9 "
            "compute); "
            "whether anything reads it again is not known");
}

TEST(Kept, WhatTheFirstStepOrThatOfThePeakMadeIsNotSaid) {
  EXPECT_TRUE(kept_of(0, kAttribute).empty());
  EXPECT_FALSE(kept_of(2, kAttribute).empty());
  EXPECT_TRUE(kept_of(3, kAttribute).empty());
}

/// Three steps. The first makes, in its backward or its forward, a buffer that stays; the peak is in the last.
std::vector<Remark> first_step_keeps(bool in_backward) {
  TestTrace trace;
  trace.stack = {{"train.py", "train", 7}};
  trace.allocate(kWeights);
  for (int i = 0; i < 3; ++i) {
    const auto make = [&] {
      if (i == 0) trace.held(trace.allocate(2000), {.path = "dc.so: reduce_buckets.buffer", .otherwise = true});
    };
    trace.phase("forward", [&] {
      if (!in_backward) make();
    });
    trace.phase("backward", [&] {
      if (in_backward) make();
    });
    trace.phase("optimizer", [&] { trace.drop(trace.allocate(100 + i)); });
    trace.step(i);
  }
  const TraceData data = trace.load();
  std::vector<Remark> remarks = analyze(data).remarks;
  std::erase_if(remarks, [](const Remark& remark) { return remark.kind != RemarkKind::kKept; });
  return remarks;
}

TEST(Kept, WhatTheFirstBackwardMadeIsSaid) {
  const std::vector<Remark> remarks = first_step_keeps(true);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks.front().holder, "dc.so: reduce_buckets.buffer");
  EXPECT_EQ(remarks.front().bytes, Bytes(2000));
  EXPECT_EQ(remarks.front().steps, 2);
  EXPECT_TRUE(first_step_keeps(false).empty()) << "set up";
}

TEST(Kept, WhatAModelAndItsTrainingNeedIsNotSaid) {
  for (const char* role : {"parameter", "gradient", "optimizer state", "buffer", "saved for backward"}) {
    EXPECT_TRUE(kept_of(1, {.path = "main: model.x", .otherwise = true, .role = role}).empty()) << role;
  }
}

TEST(Kept, WithoutAReadingNothingIsSaid) {
  EXPECT_TRUE(kept_of(1, {}).empty());
  EXPECT_TRUE(kept_of(1, {.path = "main: metric._computed", .otherwise = true, .confirmed = false}).empty());
}

TEST(Kept, WhatStaysToTheLastReadingIsSaidOfAttributesAndContainers) {
  const auto at_end = [](const HeldOf& of) { return kept_of(3, of, 1000, true); };
  ASSERT_EQ(at_end(kAttribute).size(), 1u);
  EXPECT_NE(at_end(kAttribute).front().text().find("1,000 B at the last reading of the memory, made after"),
            std::string::npos);
  EXPECT_EQ(at_end({.containers = {"main.CACHE"}, .path = "main.CACHE[3]"}).size(), 1u);
  EXPECT_TRUE(at_end({.path = "main: out", .otherwise = true}).empty()) << "the last step's output";
  EXPECT_TRUE(at_end({.path = "main.out", .otherwise = true}).empty());
}

TEST(Kept, WhatEachStepMakesAndFreesIsNotSaid) {
  const auto of = [](bool frees) {
    TestTrace trace;
    trace.stack = {{"train.py", "train", 7}};
    trace.allocate(kWeights);
    std::vector<Handle> batches;
    for (int i = 0; i < 8; ++i) {
      trace.stack = {{"loader.py", "next", 3}};
      batches.push_back(trace.allocate(500));
      trace.stack = {{"train.py", "train", 7}};
      if (frees && i > 0) trace.drop(batches[static_cast<std::size_t>(i) - 1]);
      trace.drop(trace.allocate(i == 6 ? 6000 : 100));
      trace.held(batches.back(), {.containers = {"main.loader._data"}, .path = "main.loader._data[0]"});
      trace.step(i);
    }
    const TraceData data = trace.load();
    return std::ranges::count(analyze(data).remarks, RemarkKind::kKept, &Remark::kind) +
           std::ssize(analyze(data).findings);
  };
  EXPECT_EQ(of(true), 0) << "a batch that a worker delivered early";
  EXPECT_GT(of(false), 0);
}

TEST(Kept, ABucketOfGradientsIsNotSaid) {
  EXPECT_TRUE(kept_of(1, {.path = "main: model.head.weight.grad", .otherwise = true}).empty());
}

TEST(Kept, OneHolderIsOneRemark) {
  const std::vector<Remark> remarks = kept_of(1, kAttribute, 1000, true);
  ASSERT_EQ(remarks.size(), 1u) << "at the peak and at the end";
  EXPECT_EQ(remarks.front().bytes, Bytes(1000));
}

TEST(Kept, LessThanAHundredthOfThePeakIsNotSaid) {
  EXPECT_TRUE(kept_of(1, kAttribute, 70).empty());
  EXPECT_FALSE(kept_of(1, kAttribute, 80).empty());
}

TEST(Kept, TheHolderOfAFindingHasNoRemarkToo) {
  const TraceData data = run(1, kAttribute, 1000, false);
  const Peak peak = peak_of(data, devices_of(data).front());
  Finding finding;
  finding.growth.emplace().holder = "main: other";
  EXPECT_EQ(kept(data, {peak}, {finding}).size(), 1u);
  finding.growth->holder = "main: metric._computed";
  EXPECT_EQ(kept(data, {peak}, {finding}).size(), 0u);
}

}  // namespace
}  // namespace dcmt::analyzer
