#include "analyzer/compare/difference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "analyzer/testing/test_trace.h"
#include "trace/base/quantities.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;
using Handle = TestTrace::Handle;

/// A training of a weight, with an activation made by line 14 and, perhaps, one more made by line 15.
struct Training {
  std::int64_t steps = 6, planted = 0;
  bool keeps = false;  ///< the planted one outlives its step
  std::string extra_operator = {};
  std::string command = "/usr/bin/python -u train.py --batch 8";

  [[nodiscard]] MemoryFacts facts() const {
    TestTrace trace;
    trace.meta_integers["rank"] = -1;
    trace.meta_texts["command"] = command;
    at(trace, 5);
    trace.allocate(2 * kMiB);
    for (std::int64_t step = 0; step < steps; ++step) {
      std::vector<Handle> made;
      trace.phase("forward", [&] {
        trace.op("aten::mm", [&] {
          at(trace, 14);
          made.push_back(trace.allocate(4 * kMiB));
        });
        trace.op("aten::relu", [&] {
          at(trace, 15);
          if (planted > 0) {
            const Handle handle = trace.allocate(planted);
            if (!keeps) made.push_back(handle);
          }
        });
        if (!extra_operator.empty()) trace.op(extra_operator);
        trace.op("aten::sum");
      });
      for (const Handle each : made) trace.drop(each);
      trace.step(step);
    }
    const TraceData data = trace.load();
    const Analysis analysis = analyze(data);
    MemoryFacts facts = memory_facts("train.dcmt", analysis);
    add_lives_and_graphs(analysis, facts);
    return facts;
  }

  static void at(TestTrace& trace, std::int64_t line) {
    trace.stack = {{"/repo/model.py", "forward", line}, {"/repo/train.py", "main", 40}};
  }
};

const NumberDifference* number_of(const Difference& difference, const std::string& name) {
  const auto found = std::ranges::find(difference.numbers, name, &NumberDifference::name);
  return found != difference.numbers.end() ? &*found : nullptr;
}

TEST(MemoryFacts, PeaksByPhaseHaveTheirLines) {
  const MemoryFacts facts = Training{.planted = kMiB}.facts();
  EXPECT_EQ(facts.torch, "2.11");
  EXPECT_EQ(facts.arguments, "--batch 8");
  EXPECT_EQ((Training{.command = "python -W ignore -m pkg.train --lr 1"}.facts().arguments), "--lr 1");
  EXPECT_EQ((Training{.command = "python train.py"}.facts().arguments), "");
  EXPECT_EQ(facts.steps, 6);
  EXPECT_TRUE(facts.unfit.empty());
  ASSERT_EQ(facts.devices.size(), 1u);
  const DeviceFacts& device = facts.devices[0];
  EXPECT_EQ(device.peak.value, 7 * kMiB);
  EXPECT_EQ(device.growth->value, 0);
  const auto forward = std::ranges::find(device.peaks, "forward", &PeakFact::name);
  ASSERT_NE(forward, device.peaks.end());
  EXPECT_EQ(forward->bytes.value, 7 * kMiB);
  ASSERT_EQ(forward->lines.size(), 3u);
  EXPECT_EQ(forward->lines[2].line, 15);
  EXPECT_EQ(forward->lines[2].bytes.value, kMiB);
  EXPECT_EQ(forward->lines[2].function, "model.py forward");
  EXPECT_EQ(forward->lines[2].caller, "/repo/train.py:40 main");
  EXPECT_EQ(device.peaks[0].name, "first_step");
}

TEST(MemoryFacts, WhatEachStepAddsIsGrowth) {
  const MemoryFacts facts = Training{.planted = kMiB, .keeps = true}.facts();
  EXPECT_EQ(facts.devices[0].growth->value, kMiB);
  ASSERT_EQ(facts.devices[0].grown.size(), 1u);
  EXPECT_EQ(facts.devices[0].grown[0].line, 15);
  EXPECT_FALSE((Training{.steps = 2}.facts().devices[0].growth));
}

TEST(MemoryFacts, SizesOfStepsAreNotThoseOfWeights) {
  EXPECT_EQ(Training{.planted = kMiB}.facts().sizes, (std::vector<Bytes>{Bytes(4 * kMiB), Bytes(kMiB)}));
  EXPECT_EQ(Training{.planted = 2 * kMiB}.facts().sizes, std::vector<Bytes>{Bytes(4 * kMiB)});
  // What a leak keeps is no weight to those who look for what steps make.
  EXPECT_EQ((Training{.planted = kMiB, .keeps = true}.facts().made),
            (std::vector<Bytes>{Bytes(kMiB), Bytes(4 * kMiB)}));
}

TEST(Difference, EqualRunsDoNotDiffer) {
  const Difference difference = difference_of(Training().facts(), Training().facts());
  EXPECT_TRUE(difference.equal_runs());
  EXPECT_FALSE(difference.order.first || difference.order.lifetimes);
  EXPECT_EQ(difference.order.after, 3);
}

TEST(Difference, OrderIdenticalLifetimesDiffer) {
  const Difference difference = difference_of(Training().facts(), Training{.planted = kMiB}.facts());
  EXPECT_FALSE(difference.order.first);
  EXPECT_EQ(difference.order.lifetimes, 2);
  EXPECT_EQ(difference.order.lifetimes_at, "aten::relu");
  EXPECT_EQ(difference.order.lifetimes_change, kMiB);
  const NumberDifference* peak = number_of(difference, "peak.forward");
  ASSERT_NE(peak, nullptr);
  EXPECT_EQ(peak->change(), kMiB);
  ASSERT_EQ(peak->lines.size(), 1u);
  EXPECT_EQ(peak->lines[0].line, 15);
  EXPECT_EQ(peak->lines[0].share, 1);
  EXPECT_EQ(difference.steps.size(), 6u);
}

TEST(Difference, TheFirstOperatorThatDiffersIsNamed) {
  const Difference difference = difference_of(Training().facts(), Training{.extra_operator = "aten::clone"}.facts());
  EXPECT_EQ(difference.order.first, 3);
  EXPECT_EQ(difference.order.first_before, "aten::sum");
  EXPECT_EQ(difference.order.first_after, "aten::clone");
}

TEST(Difference, AnotherNumberOfStepsIsNoDifference) {
  const Difference difference = difference_of(Training().facts(), Training{.steps = 9}.facts());
  EXPECT_TRUE(difference.equal_runs());
  EXPECT_EQ(difference.steps_before, 6);
  EXPECT_EQ(difference.steps_after, 9);
}

TEST(Difference, AGainHasTheLineThatIsGone) {
  const Difference difference = difference_of(Training{.planted = kMiB}.facts(), Training().facts());
  const NumberDifference* peak = number_of(difference, "peak.forward");
  ASSERT_NE(peak, nullptr);
  EXPECT_EQ(peak->lines[0].change, -kMiB);
  EXPECT_EQ(peak->lines[0].function, "model.py forward");
}

TEST(Difference, FindingsComeGoAndGrow) {
  const auto finding = [](const std::string& holder, std::int64_t bytes) {
    FindingFact fact;
    fact.identity = {"grows", holder, "", holder};
    fact.holder = holder;
    fact.bytes = Bytes(bytes);
    return fact;
  };
  MemoryFacts before = Training().facts();
  MemoryFacts after = before;
  before.findings = {finding("main: losses", 10), finding("main: seen", 20), finding("main: same", 5)};
  after.findings = {finding("main: seen", 30), finding("main: queue", 7), finding("main: same", 5)};
  const std::vector<FindingChange> changes = difference_of(before, after).findings;
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].became, ChangeKind::kGrew);
  EXPECT_EQ(changes[0].holder, "main: seen");
  EXPECT_EQ(changes[1].became, ChangeKind::kCame);
  EXPECT_EQ(changes[1].holder, "main: queue");
  EXPECT_EQ(changes[2].became, ChangeKind::kWent);
  EXPECT_EQ(changes[2].holder, "main: losses");
}

TEST(Difference, RunsAreComparedRankByRankWithTheFirst) {
  const auto rank = [](std::int64_t number, std::int64_t planted) {
    MemoryFacts facts = Training{.planted = planted}.facts();
    facts.rank = number;
    return facts;
  };
  const RunsDifference runs = differences_of({{"old", {rank(0, 0), rank(1, 0)}},
                                              {"new", {rank(0, 0), rank(1, kMiB), rank(2, 0)}},
                                              {"fixed", {rank(0, 0), rank(1, 0)}}});
  ASSERT_EQ(runs.runs.size(), 3u);
  EXPECT_EQ(runs.runs[1].change, kMiB);
  EXPECT_EQ(runs.runs[1].rank, 1);
  EXPECT_EQ(runs.runs[2].change, 0);
  ASSERT_EQ(runs.differences.size(), 4u);
  ASSERT_EQ(runs.lone_ranks.size(), 1u);
  EXPECT_EQ(runs.lone_ranks[0].run, "new");
  EXPECT_EQ(runs.lone_ranks[0].lacking, "old");
  EXPECT_EQ(runs.lone_ranks[0].ranks, std::vector<std::int64_t>{2});
  EXPECT_TRUE(runs.differences[0].equal_runs());
  EXPECT_FALSE(runs.differences[1].equal_runs());
  EXPECT_EQ(runs.differences[1].after, "new");
  EXPECT_TRUE(runs.differences[3].equal_runs());
}

TEST(Difference, RanksOfTheFirstRunAloneAreSaidOfEachLaterRun) {
  const auto rank = [](std::int64_t number) {
    MemoryFacts facts = Training().facts();
    facts.rank = number;
    return facts;
  };
  const RunsDifference runs =
      differences_of({{"all", {rank(0), rank(1), rank(2)}}, {"few", {rank(0)}}, {"none", {rank(-1)}}});
  EXPECT_EQ(runs.differences.size(), 1u);
  ASSERT_EQ(runs.lone_ranks.size(), 3u);
  EXPECT_EQ(runs.lone_ranks[0].lacking, "few");
  EXPECT_EQ(runs.lone_ranks[0].ranks, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(runs.lone_ranks[1].lacking, "none");
  EXPECT_EQ(runs.lone_ranks[1].ranks, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(runs.lone_ranks[2].run, "none");
  EXPECT_EQ(runs.lone_ranks[2].lacking, "all");
  EXPECT_EQ(runs.lone_ranks[2].ranks, std::vector<std::int64_t>{-1});
}

TEST(Difference, OneProcessOfARankIsComparedAndTheOthersAreSaid) {
  const auto process = [](const std::string& path, std::int64_t rank, std::int64_t steps, std::int64_t planted) {
    MemoryFacts facts = Training{.steps = steps, .planted = planted}.facts();
    facts.path = path;
    facts.rank = rank;
    return facts;
  };
  const RunsDifference runs =
      differences_of({{"old", {process("a/worker", 0, 0, 9 * kMiB), process("a/rank0", 0, 6, 0)}},
                      {"new", {process("b/rank0", 0, 6, 0), process("b/launcher", -1, 0, 0)}}});
  EXPECT_EQ(runs.left_out, (std::vector<std::string>{"a/worker", "b/launcher"}));
  EXPECT_TRUE(runs.lone_ranks.empty());
  ASSERT_EQ(runs.differences.size(), 1u);
  EXPECT_TRUE(runs.differences[0].equal_runs());
  EXPECT_EQ(runs.runs[0].peak.value, 6 * kMiB);  // not the worker's
}

TEST(Difference, OtherKindsOfDevicesHaveTheirPeaks) {
  const auto with_gpu = [](std::int64_t cpu_bytes) {
    MemoryFacts facts = Training().facts();
    facts.devices.front().device = "cuda:0";
    facts.devices.push_back(Training{.planted = cpu_bytes}.facts().devices.front());
    return facts;
  };
  const Difference difference = difference_of(with_gpu(0), with_gpu(kMiB));
  EXPECT_EQ(difference.device, "cuda");
  ASSERT_EQ(difference.numbers.size(), 1u);
  EXPECT_EQ(difference.numbers[0].name, "peak.cpu");
  EXPECT_EQ(difference.numbers[0].change(), kMiB);
  ASSERT_EQ(difference.numbers[0].lines.size(), 1u);
  EXPECT_EQ(difference.numbers[0].lines[0].line, 15);
  // A run without a GPU, and one with it.
  const Difference other = difference_of(Training().facts(), with_gpu(0));
  EXPECT_EQ(number_of(other, "peak")->before, std::nullopt);
  EXPECT_EQ(number_of(other, "peak.cpu"), nullptr);
}

TEST(Difference, WhatDiffersWithinOnePeakIsADifference) {
  MemoryFacts other = Training().facts();
  other.devices.front().step_peaks[3].value -= 5;
  EXPECT_FALSE(difference_of(Training().facts(), other).equal_runs());
  other = Training().facts();
  other.operators[1].bytes.value -= 5;
  EXPECT_FALSE(difference_of(Training().facts(), other).equal_runs());
}

}  // namespace
}  // namespace dcmt::analyzer
