#include "analyzer/replay/replay_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/replay/replay_comparison.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

/// A trace, its analysis, and a plan of it.
struct Planned {
  explicit Planned(TestTrace& trace, std::optional<std::int64_t> step = std::nullopt)
      : data(trace.load()), analysis(analyze(data)) {
    const Expected<ReplayRegion> region = step ? region_of_step(analysis, *step) : region_of_peak(analysis);
    EXPECT_TRUE(region.ok());
    Expected<ReplayPlan> built = plan_of(analysis, *region);
    EXPECT_TRUE(built.ok()) << (built.ok() ? "" : built.error().message);
    if (built.ok()) plan = std::move(*built);
  }

  /// "gather 0", "release 0", "level 20", in order.
  [[nodiscard]] std::vector<std::string> events() const {
    std::vector<std::string> texts;
    for (const ReplayEvent& event : plan.events) {
      const bool of_bytes = event.what == ReplayDo::kLevel || event.what == ReplayDo::kMemory;
      std::string text(name_of(event.what));
      if (of_bytes) text += " " + std::to_string(event.bytes.value);
      if (event.what == ReplayDo::kStep) text += " " + std::to_string(event.step);
      if (!of_bytes && event.what != ReplayDo::kStep && event.what != ReplayDo::kOperator) {
        text += " " + std::to_string(event.buffer);
      }
      if (event.again) text += " again";
      texts.push_back(text);
    }
    return texts;
  }

  TraceData data;
  Analysis analysis;
  ReplayPlan plan;
};

using Texts = std::vector<std::string>;

Texts without(Texts texts, const std::string& what) {
  std::erase_if(texts, [&](const std::string& text) { return text.starts_with(what); });
  return texts;
}

/// What a plan has allocated at most, by playing it: levels and the buffers whose bytes have not gone.
std::int64_t played_peak(const ReplayPlan& plan) {
  std::vector<bool> dropped(plan.buffers.size()), forgotten(plan.buffers.size()), there(plan.buffers.size());
  std::int64_t level = 0;
  std::int64_t peak = 0;
  for (const ReplayEvent& event : plan.events) {
    switch (event.what) {
      case ReplayDo::kLevel:
        level = event.bytes.value;
        break;
      case ReplayDo::kMake:
      case ReplayDo::kGather:
        there[event.buffer] = true;
        break;
      case ReplayDo::kRelease:
        forgotten[event.buffer] = true;
        if (!event.clears_tensor_only || dropped[event.buffer]) there[event.buffer] = false;
        break;
      case ReplayDo::kForget:
        forgotten[event.buffer] = true;
        break;
      case ReplayDo::kDrop:
        dropped[event.buffer] = true;
        if (forgotten[event.buffer]) there[event.buffer] = false;
        break;
      case ReplayDo::kEmpty:
        there[event.buffer] = false;
        break;
      default:
        break;
    }
    std::int64_t now = level;
    for (std::size_t i = 0; i < there.size(); ++i) now += there[i] ? plan.buffers[i].bytes.value : 0;
    peak = std::max(peak, now);
  }
  return peak;
}

TEST(ReplayPlan, ADefectsNamesGoAfterItsReleases) {
  TestTrace trace;
  testing::add_zero3_graph(trace, 2, 1000, false);
  trace.step(1);
  const Planned planned(trace);
  EXPECT_EQ(without(planned.events(), "operator"), (Texts{"level 0", "gather 0", "gather 1", "wait 0", "release 0",
                                                          "wait 1", "release 1", "drop 0", "drop 1", "step 1"}));
  for (const ReplayEvent& event : planned.plan.events) {
    EXPECT_TRUE(event.what != ReplayDo::kRelease || event.clears_tensor_only);
  }
  const ReplayBuffer& first = planned.plan.buffers.front();
  EXPECT_EQ(first.bytes, Bytes(1000));
  ASSERT_EQ(first.holders.size(), 2u);
  EXPECT_EQ(first.holders[0].name, "buf0");
  EXPECT_EQ(first.holders[1].name, "buf1");
  EXPECT_EQ(first.holders[0].function, "Runner.call");
  EXPECT_FALSE(first.unnamed);
}

TEST(ReplayPlan, AFixedReleaseFreesAndItsThreadGoesOn) {
  TestTrace trace;
  testing::add_zero3_graph(trace, 2, 1000, true);
  trace.step(1);
  const Planned planned(trace);
  // The operator that shows what a release left comes before anything else happens to the buffers.
  EXPECT_EQ(planned.events(), (Texts{"level 0", "gather 0", "gather 1", "wait 0", "release 0", "operator", "wait 1",
                                     "release 1", "operator", "drop 0", "drop 1", "step 1"}));
  for (const ReplayEvent& event : planned.plan.events) {
    EXPECT_TRUE(event.what != ReplayDo::kRelease || !event.clears_tensor_only);
  }
}

TEST(ReplayPlan, WhatElseIsAllocatedIsALevelWithItsPeaks) {
  TestTrace trace;
  const auto before = trace.allocate(7);
  TestTrace::Handle weight = 0;
  trace.op("zero3::allgather_param", [&] {
    weight = trace.allocate(100);
    trace.gather(0, weight);
  });
  const auto short_lived = trace.allocate(50);
  const auto kept = trace.allocate(3);
  trace.drop(short_lived);
  trace.release(0, weight, {}, [&] { trace.resize_to_zero(weight); });
  trace.op("aten::mm");
  trace.drop(before);
  trace.drop(kept);
  trace.step(1);
  const Planned planned(trace);
  EXPECT_EQ(without(planned.events(), "operator"),
            (Texts{"level 0", "level 7", "gather 0", "level 60", "level 10", "release 0", "level 0", "step 1"}));
  EXPECT_EQ(planned.plan.facts.peak, Bytes(160));
  EXPECT_EQ(played_peak(planned.plan), 160);
  ASSERT_EQ(planned.plan.facts.releases.size(), 1u);
  EXPECT_EQ(planned.plan.facts.releases.front().allocated, Bytes(10));
}

TEST(ReplayPlan, WhatWasGatheredBeforeTheStepIsThereWhenItBegins) {
  TestTrace trace;
  TestTrace::Handle weight = 0;
  trace.op("zero3::allgather_param", [&] {
    weight = trace.allocate(100);
    trace.gather(5, weight);
  });
  const auto other = trace.allocate(11);
  trace.step(1);
  trace.release(5, weight, {}, [&] { trace.resize_to_zero(weight); });
  trace.op("aten::mm");
  trace.drop(other);
  trace.step(2);
  const Planned planned(trace, 2);
  EXPECT_EQ(planned.plan.begin, Bytes(111));
  EXPECT_EQ(planned.plan.prologue, 2u);
  EXPECT_EQ(without(planned.events(), "operator"), (Texts{"level 11", "gather 0", "release 0", "level 0", "step 2"}));
}

TEST(ReplayPlan, WhatIsGatheredForTheNextStepIsReleasedAfterTheRegion) {
  TestTrace trace;
  const auto weight = trace.allocate(100);
  trace.gather(5, weight);
  trace.release(5, weight, {.declared = 2, .remaining = 1, .flags = ""});
  trace.step(1);
  trace.op("aten::mm");
  trace.step(2);
  trace.release(5, weight, {.declared = 2}, [&] { trace.resize_to_zero(weight); });
  trace.op("aten::mm");
  trace.step(3);
  const Planned first(trace, 1);
  EXPECT_EQ(without(first.events(), "operator"), (Texts{"level 0", "gather 0", "release 0", "step 1", "release 0"}));
  EXPECT_EQ(first.plan.facts.releases.size(), 1u);
  const Planned last(trace, 3);
  EXPECT_EQ(without(last.events(), "operator"), (Texts{"level 0", "gather 0", "release 0", "release 0", "step 3"}));
  const auto region = last.plan.events.begin() + static_cast<std::ptrdiff_t>(last.plan.prologue);
  const auto is_release = [](const ReplayEvent& event) { return event.what == ReplayDo::kRelease; };
  EXPECT_EQ(std::count_if(last.plan.events.begin(), region, is_release), 1);
  EXPECT_EQ(last.plan.facts.releases.size(), 1u);
}

TEST(ReplayPlan, AReadAfterTheRegionIsPlayedAndSoIsTheEndOfWhatItReads) {
  TestTrace trace;
  const auto weight = trace.allocate(100);
  trace.gather(5, weight);
  const std::int64_t release = trace.release(5, weight);
  trace.op("aten::mm");
  trace.step(1);
  trace.op("aten::mm", [&] { trace.read(release, 5, weight, "aten::mm"); });
  trace.drop(weight);
  trace.step(2);
  const Planned planned(trace, 1);
  EXPECT_EQ(without(planned.events(), "operator"),
            (Texts{"level 0", "gather 0", "release 0", "step 1", "read 0", "drop 0"}));
}

TEST(ReplayPlan, WhatWasThereBeforeItsGatherIsNeverThereTwice) {
  TestTrace trace;
  const auto weight = trace.allocate(100);
  trace.step(1);
  trace.gather(5, weight);
  trace.release(5, weight, {}, [&] { trace.resize_to_zero(weight); });
  trace.op("aten::mm");
  trace.step(2);
  const Planned planned(trace, 2);
  EXPECT_EQ(without(planned.events(), "operator"), (Texts{"level 100", "level 0", "gather 0", "release 0", "step 2"}));
  EXPECT_EQ(planned.plan.facts.peak, Bytes(100));
  EXPECT_EQ(played_peak(planned.plan), 100);
}

TEST(ReplayPlan, AGatherThatFindsTheParameterThereAllocatesNothing) {
  TestTrace trace;
  TestTrace::Handle weight = 0;
  trace.op("zero3::allgather_param", [&] {
    weight = trace.allocate(100);
    trace.gather(0, weight);
  });
  trace.op("zero3::allgather_param", [&] { trace.gather(0, weight); });
  trace.release(0, weight, {}, [&] { trace.resize_to_zero(weight); });
  trace.op("aten::mm");
  trace.step(1);
  const Planned planned(trace);
  EXPECT_EQ(without(planned.events(), "operator"),
            (Texts{"level 0", "gather 0", "gather 0 again", "release 0", "step 1"}));
}

TEST(ReplayPlan, WhatNobodyReleasesIsForgottenWhenItEnds) {
  TestTrace trace;
  std::vector<TestTrace::Handle> weights(2);
  for (TestTrace::Handle& weight : weights) {
    trace.op("zero3::allgather_param", [&] {
      weight = trace.allocate(100);
      trace.gather(0, weight);
    });
  }
  trace.drop(weights[0]);
  trace.drop(weights[1]);
  trace.op("aten::mm");
  trace.step(1);
  const Planned planned(trace);
  // The second gather makes another storage, so the first one is not the parameter any more.
  EXPECT_EQ(planned.events(),
            (Texts{"level 0", "gather 0", "forget 0", "gather 1", "drop 0", "forget 1", "drop 1", "step 1"}));
}

TEST(ReplayPlan, WhatGoesWithinTheLastOperatorGoesBeforeTheProgramsEnd) {
  TestTrace trace;
  const auto inside = trace.allocate(100);
  trace.gather(0, inside);
  const auto after = trace.allocate(100);
  trace.gather(1, after);
  trace.op("mylib::finish", [&] {
    trace.op("aten::clone");
    trace.drop(inside);
  });
  trace.drop(after);
  const Planned planned(trace);
  EXPECT_EQ(planned.events(), (Texts{"level 0", "gather 0", "gather 1", "forget 0", "drop 0", "operator"}));
  // The rule's account is the same: the one was gone in time, the other one stayed.
  ASSERT_EQ(planned.plan.facts.findings.size(), 1u);
  EXPECT_EQ(planned.plan.facts.findings.front().items, (std::vector<std::pair<Key, Bytes>>{{Key{0, 1}, Bytes(100)}}));
}

TEST(ReplayPlan, ParametersInOneStorageShareTheFirstOnesBuffer) {
  TestTrace trace;
  const auto flat = trace.allocate(800);
  trace.gather(3, flat);
  trace.gather(4, flat);
  trace.release(3, flat, {.flags = "final,shared"});
  trace.release(4, flat, {}, [&] { trace.resize_to_zero(flat); });
  trace.op("aten::mm");
  trace.step(1);
  const Planned planned(trace);
  ASSERT_EQ(planned.plan.buffers.size(), 2u);
  EXPECT_EQ(planned.plan.buffers[0].shares, 0u);
  EXPECT_EQ(planned.plan.buffers[1].shares, 0u);
  EXPECT_EQ(planned.plan.facts.releases[0].verdict, Verdict::kShared);
}

TEST(ReplayPlan, APartThatNobodyInspectedHasNoNameAfterItsReleaseThoughItsStorageStays) {
  TestTrace trace;
  const auto flat = trace.allocate(800);
  trace.gather(3, flat);
  trace.gather(4, flat);
  trace.release(3, flat, {.flags = "final,shared"});
  const std::int64_t last = trace.release(4, flat);
  trace.census(last, flat, {});
  trace.op("aten::mm");
  trace.step(1);
  const Planned planned(trace);
  EXPECT_EQ(without(planned.events(), "operator"),
            (Texts{"level 0", "gather 0", "gather 1", "drop 0", "release 0", "release 1", "step 1"}));
}

TEST(ReplayPlan, TheSameIdOfTwoGraphsIsTwoParameters) {
  TestTrace trace;
  for (const std::int64_t graph : {7, 8}) {
    trace.graph = graph;
    const auto weight = trace.allocate(100);
    trace.gather(2, weight);
    trace.release(2, weight, {}, [&] { trace.resize_to_zero(weight); });
  }
  trace.op("aten::mm");
  const Planned planned(trace);
  ASSERT_EQ(planned.plan.buffers.size(), 2u);
  EXPECT_NE(planned.plan.buffers[0].id, planned.plan.buffers[1].id);
  EXPECT_EQ(planned.plan.buffers[0].key, (Key{7, 2}));
  EXPECT_EQ(planned.plan.buffers[1].key, (Key{8, 2}));
}

TEST(ReplayPlan, ReadsBelongToTheStretchAndReachTheStepTheyLieIn) {
  TestTrace trace;
  const auto weight = trace.allocate(100);
  trace.gather(1, weight);
  const std::int64_t release = trace.release(1, weight);
  trace.op("aten::add");
  trace.step(1);
  trace.op("aten::mm", [&] { trace.read(release, 1, weight, "aten::mm"); });
  trace.step(2);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  const auto finding = std::find_if(analysis.findings.begin(), analysis.findings.end(),
                                    [](const Finding& one) { return one.rule == "use_after_release"; });
  ASSERT_NE(finding, analysis.findings.end());
  const Expected<ReplayRegion> region = region_of(analysis, *finding);
  ASSERT_TRUE(region.ok());
  ASSERT_EQ(region->steps.size(), 2u);
  const Expected<ReplayPlan> plan = plan_of(analysis, *region);
  ASSERT_TRUE(plan.ok());
  const auto is_read = [](const ReplayEvent& event) { return event.what == ReplayDo::kRead; };
  ASSERT_EQ(std::count_if(plan->events.begin(), plan->events.end(), is_read), 1);
  EXPECT_EQ(std::find_if(plan->events.begin(), plan->events.end(), is_read)->bytes, Bytes(100));
}

TEST(ReplayPlan, WhatCannotBeReplayedSaysWhy) {
  TestTrace none;
  none.allocate(5);
  none.step(1);
  const TraceData empty = none.load();
  const Analysis nothing = analyze(empty);
  EXPECT_EQ(plan_of(nothing, region_of_peak(nothing)).error().code, ErrorCode::kBadInput);
  EXPECT_EQ(region_of_step(nothing, 9).error().code, ErrorCode::kUsage);

  TestTrace streams;
  testing::add_streams(streams);
  const TraceData data = streams.load();
  const Analysis analysis = analyze(data);
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(region_of(analysis, analysis.findings.front()).error().code, ErrorCode::kNotComparable);
}

TEST(ReplayPlan, PlayedItHasThePeakOfTheTrace) {
  for (const bool fixed : {false, true}) {
    TestTrace trace;
    trace.phase("forward", [&] { testing::add_zero3_graph(trace, 12, 1'048'584, fixed); });
    trace.step(1);
    const Planned planned(trace);
    EXPECT_EQ(played_peak(planned.plan), (fixed ? 2 : 12) * 1'048'584);
    EXPECT_EQ(planned.plan.facts.predicted_peak, Bytes(2 * 1'048'584));
  }
}

TEST(ReplayComparison, EveryFactThatDiffersIsFound) {
  TestTrace trace;
  testing::add_zero3_graph(trace, 3, 1000, false);
  trace.step(1);
  const Planned planned(trace);
  const ReplayFacts& recorded = planned.plan.facts;
  ASSERT_EQ(recorded.releases.size(), 3u);
  ASSERT_EQ(recorded.findings.size(), 1u);
  EXPECT_FALSE(first_difference(recorded, recorded));

  const auto changed = [&](const std::function<void(ReplayFacts&)>& change) {
    ReplayFacts replayed = recorded;
    change(replayed);
    const auto found = first_difference(recorded, replayed);
    EXPECT_TRUE(found);
    return found ? found->what : "";
  };
  EXPECT_EQ(changed([](ReplayFacts& f) { f.releases[1].key.key = 9; }), "parameter");
  EXPECT_EQ(changed([](ReplayFacts& f) { f.releases[1].verdict = Verdict::kFreed; }), "verdict");
  EXPECT_EQ(changed([](ReplayFacts& f) { f.releases[1].residual = false; }), "residual");
  EXPECT_EQ(changed([](ReplayFacts& f) { f.releases[1].bytes_after = Bytes(0); }), "bytes after the release");
  EXPECT_EQ(changed([](ReplayFacts& f) { f.releases[1].bytes_settled = Bytes(1); }), "bytes at the next operator");
  EXPECT_EQ(changed([](ReplayFacts& f) { ++f.releases[1].allocated.value; }), "allocated bytes");
  EXPECT_EQ(changed([](ReplayFacts& f) { f.releases[1].reads = 1; }), "reads after the release");
  EXPECT_EQ(changed([](ReplayFacts& f) { f.releases[1].holder_kinds = {"unnamed"}; }), "holders");
  EXPECT_EQ(changed([](ReplayFacts& f) { f.releases.pop_back(); }), "releases");
  EXPECT_EQ(changed([](ReplayFacts& f) { f.findings.clear(); }), "finding residual");
  EXPECT_EQ(changed([](ReplayFacts& f) { f.findings[0].items.pop_back(); }), "finding residual");
  EXPECT_EQ(changed([](ReplayFacts& f) { ++f.peak.value; }), "peak");
  // The first of several.
  const auto found = [&] {
    ReplayFacts replayed = recorded;
    replayed.releases[2].verdict = replayed.releases[1].verdict = Verdict::kFreed;
    return first_difference(recorded, replayed);
  }();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->release, 1u);
  EXPECT_EQ(found->recorded, "late");
  EXPECT_EQ(found->replayed, "freed");
}

TEST(ReplayComparison, AnotherTraceIsNoReplay) {
  TestTrace trace;
  testing::add_zero3_graph(trace, 1, 1000, false);
  trace.step(1);
  const Planned planned(trace);
  EXPECT_EQ(facts_of_replay(planned.analysis, planned.plan).error().code, ErrorCode::kNotComparable);
}

}  // namespace
}  // namespace dcmt::analyzer
