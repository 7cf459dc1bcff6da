#include "analyzer/rules/duplicate.h"

#include <gtest/gtest.h>

#include <deque>
#include <initializer_list>
#include <string>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;
using Handles = std::vector<TestTrace::Handle>;

Handles make(TestTrace& trace, std::int64_t line, std::initializer_list<std::int64_t> sizes,
             const std::string& role = {}) {
  trace.stack = {{"train.py", "main", line}};
  Handles handles;
  for (const std::int64_t size : sizes) {
    handles.push_back(trace.allocate(size));
    if (!role.empty()) trace.held(handles.back(), {.path = "main: model", .role = role});
  }
  return handles;
}

Handles make_model(TestTrace& trace) { return make(trace, 3, {1000, 2000, 4000}, "parameter"); }

void drop(TestTrace& trace, const Handles& handles) {
  for (const TestTrace::Handle each : handles) trace.drop(each);
}

void train(TestTrace& trace, int steps = 4) {
  for (int i = 0; i < steps; ++i) {
    drop(trace, make(trace, 20, {50}));
    trace.step(i);
  }
}

std::vector<Finding> findings(TestTrace& trace) {
  static std::deque<TraceData> data;  // findings have texts of it
  return analyze(data.emplace_back(trace.load())).findings;
}

TEST(Duplicates, BothLinesAreNamedAndThePeakWithoutOne) {
  TestTrace trace;
  make_model(trace);
  const Handles state = make(trace, 4, {1000, 2000, 4000});
  drop(trace, state);
  train(trace);
  const std::vector<Finding> found = findings(trace);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().rule, "duplicate");
  EXPECT_EQ(found.front().bytes, Bytes(7000));
  EXPECT_EQ(found.front().dead_at_peak, Bytes(7000));
  EXPECT_EQ(found.front().predicted_peak, Bytes(7050));
  ASSERT_TRUE(found.front().duplicate);
  EXPECT_EQ(found.front().duplicate->made, "train.py:4 main");
  EXPECT_EQ(found.front().duplicate->other, "train.py:3 main");
  EXPECT_EQ(found.front().duplicate->storages, 3);
}

TEST(Duplicates, TheFirstSetIsNeededUntilTheSecondExists) {
  TestTrace trace;
  const Handles state = make(trace, 3, {1000, 2000, 4000});
  make(trace, 4, {1000, 2000, 4000}, "parameter");
  drop(trace, state);
  train(trace);
  const std::vector<Finding> found = findings(trace);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().duplicate->made, "train.py:3 main");
  EXPECT_EQ(found.front().predicted_peak, Bytes(7000 + 4000)) << "before the last of the second set";
}

TEST(Duplicates, ACastHasTheSameSizesButForTheElements) {
  TestTrace trace;
  make_model(trace);
  const Handles half = make(trace, 4, {500, 1000, 2000});
  drop(trace, half);
  train(trace);
  const std::vector<Finding> found = findings(trace);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.front().duplicate->bytes, Bytes(3500));
  EXPECT_EQ(found.front().duplicate->other_bytes, Bytes(7000));
}

TEST(Duplicates, WhatLivesOnIsNone) {
  TestTrace trace;
  make_model(trace);
  const Handles average = make(trace, 4, {1000, 2000, 4000});
  train(trace);
  drop(trace, average);
  EXPECT_TRUE(findings(trace).empty());
}

TEST(Duplicates, WhatEachStepMakesIsNone) {
  TestTrace trace;
  make_model(trace);
  for (int i = 0; i < 4; ++i) {
    drop(trace, make(trace, 9, {1000, 2000, 4000}));
    trace.step(i);
  }
  EXPECT_TRUE(findings(trace).empty());
}

TEST(Duplicates, NorWhatABackwardMakes) {
  TestTrace trace;
  make_model(trace);
  Handles gradients;
  trace.phase("backward", [&] { gradients = make(trace, 9, {1000, 2000, 4000}); });
  drop(trace, gradients);
  train(trace);
  EXPECT_TRUE(findings(trace).empty());
}

TEST(Duplicates, SetsOfOneSizeCountOnlyBesideAllOfThatSize) {
  for (const bool all : {true, false}) {
    TestTrace trace;
    make(trace, 3, {1000, 1000, 1000}, "parameter");
    if (!all) make(trace, 3, {1000}, "parameter");
    drop(trace, make(trace, 4, {1000, 1000, 1000}));
    train(trace);
    EXPECT_EQ(findings(trace).size(), all ? 1u : 0u) << "else the size is usual here";
  }
}

TEST(Duplicates, AFewEqualSizesAreNoThirdSet) {
  TestTrace trace;
  make_model(trace);
  make(trace, 5, {2000}, "parameter");
  drop(trace, make(trace, 4, {1000, 2000, 4000}));
  train(trace);
  EXPECT_EQ(findings(trace).size(), 1u);
}

TEST(Duplicates, AThirdSetMayBeWhatOneWasComputedFrom) {
  for (const std::string role : {"", "parameter", "optimizer state"}) {
    TestTrace trace;
    make_model(trace);
    make(trace, 5, {1000, 2000, 4000}, role);
    drop(trace, make(trace, 4, {1000, 2000, 4000}));
    train(trace);
    EXPECT_EQ(findings(trace).size(), role == "optimizer state" ? 1u : 0u) << role;
  }
}

TEST(Duplicates, NoCopyOfAModelIsNone) {
  TestTrace trace;
  make(trace, 3, {1000, 2000, 4000});
  drop(trace, make(trace, 4, {1000, 2000, 4000}));
  train(trace);
  EXPECT_TRUE(findings(trace).empty());
}

TEST(Duplicates, NorTwoModelsOfWhichOneEndsFirst) {
  TestTrace trace;
  make_model(trace);
  const Handles teacher = make_model(trace);
  train(trace, 2);
  drop(trace, make(trace, 20, {60}));
  drop(trace, teacher);
  trace.step(2);
  EXPECT_TRUE(findings(trace).empty());
}

TEST(Duplicates, NorOneThatIsComputedWith) {
  for (const std::int64_t more : {100, 1000}) {
    TestTrace trace;
    make_model(trace);
    const Handles before = make(trace, 4, {1000, 2000, 4000});
    drop(trace, make(trace, 5, {more}));
    drop(trace, before);
    train(trace);
    EXPECT_EQ(findings(trace).size(), more == 100 ? 1u : 0u);
  }
}

TEST(Duplicates, NorAModelThatEndsWithTheOther) {
  TestTrace trace;
  const Handles model = make_model(trace);
  drop(trace, make(trace, 4, {1000, 2000, 4000}));
  drop(trace, model);
  train(trace);
  EXPECT_TRUE(findings(trace).empty());
}

TEST(Duplicates, ASmallPartOfThePeakIsNone) {
  TestTrace trace;
  make(trace, 2, {200'000});
  make_model(trace);
  drop(trace, make(trace, 4, {1000, 2000, 4000}));
  train(trace);
  EXPECT_TRUE(findings(trace).empty());
}

TEST(Duplicates, NorOneBesideAnotherPeakNearlyAsHigh) {
  TestTrace trace;
  make_model(trace);
  drop(trace, make(trace, 4, {1000, 2000, 4000}));
  drop(trace, make(trace, 5, {6900}));
  train(trace);
  EXPECT_TRUE(findings(trace).empty());
}

}  // namespace
}  // namespace dcmt::analyzer
