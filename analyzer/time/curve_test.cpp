#include "analyzer/time/curve.h"

#include <gtest/gtest.h>

#include "analyzer/storages/groups.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/testing/test_trace.h"
#include "analyzer/time/step_peaks.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

TEST(Curve, RisesAndFallsWithBlocksAndPeaksAtTheFirstMaximum) {
  TestTrace trace;
  const auto a = trace.allocate(100);  // blocks at 1, 3, 7; storages at 2, 4, 8
  const auto b = trace.allocate(50);
  trace.drop(b);  // storage at 5, block at 6
  trace.allocate(50);
  trace.drop(a);  // 9, 10
  const TraceData data = trace.load();
  ASSERT_EQ(devices_of(data).size(), 1u);
  const StringId cpu = devices_of(data).front();
  EXPECT_EQ(data.text(cpu), "cpu");

  std::vector<std::pair<std::int64_t, std::int64_t>> points;
  for (const CurvePoint& point : allocated_curve(data, cpu)) points.emplace_back(point.seq.value, point.bytes.value);
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected{{1, 100}, {3, 150}, {6, 100}, {7, 150}, {10, 50}};
  EXPECT_EQ(points, expected);

  const Peak peak = peak_of(data, cpu);
  EXPECT_EQ(peak.bytes, Bytes(150));
  EXPECT_EQ(peak.seq, Sequence(3));
  ASSERT_NE(peak.block, nullptr);
  EXPECT_EQ(peak.block->bytes, Bytes(50));
}

TEST(Curve, AnIntervalWithoutRowsGivesItsPeakAndItsEnd) {
  TestTrace trace;
  const auto a = trace.allocate(100);  // block at 1
  trace.step(0);                       // 3
  trace.kept_interval(0, Kept::kAll);
  trace.sums_only_interval(1, 6, 100, 700, 120);  // 3 to 9, its peak at 5
  trace.drop(a);                                  // storage at 10, block at 11
  trace.step(2);                                  // 12
  trace.kept_interval(2, Kept::kLast);
  const TraceData data = trace.load();
  const StringId cpu = devices_of(data).front();
  std::vector<std::pair<std::int64_t, std::int64_t>> points;
  for (const CurvePoint& point : allocated_curve(data, cpu)) points.emplace_back(point.seq.value, point.bytes.value);
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected{{1, 100}, {5, 700}, {9, 120}, {11, 20}};
  EXPECT_EQ(points, expected);
  EXPECT_EQ(peak_of(data, cpu).bytes, Bytes(700));
  // Nothing is predicted for what is not known.
  const Block* block = data.blocks.find(BlockId(1));
  EXPECT_EQ(peak_of(data, cpu, {{block, Sequence(2), {}}}).seq, Sequence(1));

  const std::vector<Step> steps = steps_of(data);
  const std::vector<StepPeak> peaks = step_peaks(data, steps, cpu, {});
  ASSERT_EQ(peaks.size(), 3u);
  EXPECT_EQ(peaks[1].step, 1);
  EXPECT_EQ(peaks[1].begin, Bytes(100));
  EXPECT_EQ(peaks[1].peak, Bytes(700));
  EXPECT_FALSE(peaks[1].predicted_peak.has_value());
  EXPECT_EQ(peaks[2].begin, Bytes(120));
  EXPECT_EQ(peaks[2].peak, Bytes(120));
  EXPECT_EQ(data.sums_only_at(Sequence(3)), nullptr);
  EXPECT_NE(data.sums_only_at(Sequence(4)), nullptr);
  EXPECT_NE(data.sums_only_at(Sequence(9)), nullptr);
  EXPECT_EQ(data.sums_only_at(Sequence(10)), nullptr);
  EXPECT_EQ(data.sums_only_in(Sequence(0), Sequence(12)), data.sums_only_at(Sequence(4))) << "behind one with rows";
}

TEST(Curve, LeavesGapsOut) {
  TestTrace trace;
  const auto a = trace.allocate(100);  // block 1 from 1
  trace.allocate(30);                  // from 3
  trace.allocate(20);                  // from 5
  trace.drop(a);                       // block to 8
  const TraceData data = trace.load();
  const StringId cpu = devices_of(data).front();
  const Block* block = data.blocks.find(BlockId(1));
  EXPECT_EQ(peak_of(data, cpu).bytes, Bytes(150));
  EXPECT_EQ(peak_of(data, cpu, {{block, Sequence(2), {}}}).bytes, Bytes(100));
  EXPECT_EQ(peak_of(data, cpu, {{block, Sequence(4), {}}}).bytes, Bytes(130));
  // The gap ends before the third allocation: the peak is as measured.
  EXPECT_EQ(peak_of(data, cpu, {{block, Sequence(2), Sequence(4)}}).bytes, Bytes(150));
  // An end beyond the block's own changes nothing.
  EXPECT_EQ(peak_of(data, cpu, {{block, Sequence(2), Sequence(9)}}).bytes, Bytes(100));
}

TEST(Curve, EmptyTraceHasNoPeak) {
  TestTrace trace;
  trace.user_mark("nothing");
  const TraceData data = trace.load();
  EXPECT_TRUE(devices_of(data).empty());
  EXPECT_FALSE(peak_of(data, {}).seq.valid());
}

TEST(LiveSet, GroupsBySiteOperatorPhaseKindAndOwner) {
  TestTrace trace;
  trace.stack = {{"/x/site-packages/torch/nn/functional.py", "linear", 7}, {"/home/user/model.py", "forward", 41}};
  TestTrace::Handle gathered = 0;
  trace.phase("forward", [&] {
    trace.op("zero3::allgather_param", [&] {
      trace.op("aten::empty", [&] { gathered = trace.allocate(100); });
      trace.gather(0, gathered);
      trace.gather(3, gathered);
    });
    trace.op(
        "AddmmBackward0", [&] { trace.op("aten::mm", [&] { trace.allocate(7); }); }, "backward");
  });
  trace.stack = {};
  trace.allocate(5);
  const TraceData data = trace.load();
  const PhaseIndex phases(data);
  const auto live = live_blocks(data, devices_of(data).front(), last_sequence(data));
  ASSERT_EQ(live.size(), 3u);
  const auto names = [&](GroupBy by) {
    std::vector<std::pair<std::string, std::int64_t>> groups;
    for (const Group& group : group_blocks(data, phases, live, by, last_sequence(data)))
      groups.emplace_back(group.name, group.bytes.value);
    return groups;
  };
  using Groups = std::vector<std::pair<std::string, std::int64_t>>;
  EXPECT_EQ(names(GroupBy::kSite), (Groups{{"user/model.py:41 forward", 107}, {"(no Python frame)", 5}}));
  EXPECT_EQ(names(GroupBy::kOperator),
            (Groups{{"zero3::allgather_param", 100}, {"aten::mm", 7}, {"(no operator recorded)", 5}}));
  EXPECT_EQ(names(GroupBy::kPhase), (Groups{{"forward", 107}, {"(no phase)", 5}}));
  EXPECT_EQ(names(GroupBy::kKind), (Groups{{"gathered parameter", 100}, {"tensor", 12}}));
  EXPECT_EQ(names(GroupBy::kOwner), (Groups{{"graph 0 id 0, graph 0 id 3", 100}, {"-", 12}}));
}

}  // namespace
}  // namespace dcmt::analyzer
