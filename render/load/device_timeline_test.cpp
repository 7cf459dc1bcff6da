#include "render/load/device_timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <thread>

#include "analyzer/storages/group_names.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/testing/test_trace.h"
#include "analyzer/time/curve.h"
#include "render/load/block_addresses.h"
#include "render/load/session.h"

namespace dcmt::load {
namespace {

using analyzer::Analysis;
using analyzer::TraceData;
using testing::TestTrace;

/// Steps that gather, release (some keep their bytes), allocate and free on two devices.
void random_program(TestTrace& trace, std::mt19937& random) {
  std::vector<TestTrace::Handle> alive;
  std::vector<TestTrace::Handle> kept;
  for (std::int64_t step = 0; step < 3; ++step) {
    trace.phase(step % 2 == 0 ? "forward" : "backward", [&] {
      for (int i = 0; i < 25; ++i) {
        trace.gpu = random() % 3 == 0 ? std::nullopt : std::optional<std::int64_t>(0);
        trace.stack = {{"model.py", "forward", static_cast<std::int64_t>(random() % 12)}};
        const std::int64_t bytes = 1 + static_cast<std::int64_t>(random() % 200000);
        switch (random() % 5) {
          case 0: {
            const auto key = static_cast<std::int64_t>(random() % 4);
            TestTrace::Handle handle = 0;
            trace.op("zero3::allgather_param", [&] {
              handle = trace.allocate(bytes);
              trace.gather(key, handle);
            });
            trace.op("aten::mm");
            if (random() % 2 == 0) {
              trace.release(key, handle);
              trace.op("aten::mm");
              kept.push_back(handle);
            } else {
              trace.release(key, handle, {}, [&] { trace.resize_to_zero(handle); });
            }
            break;
          }
          case 1:
          case 2:
            if (!alive.empty()) {
              const std::size_t at = random() % alive.size();
              trace.drop(alive[at]);
              alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(at));
              break;
            }
            [[fallthrough]];
          default:
            trace.op("aten::empty", [&] { alive.push_back(trace.allocate(bytes)); });
        }
      }
    });
    if (random() % 2 == 0) {
      for (const TestTrace::Handle handle : kept) trace.drop(handle);
      kept.clear();
    }
    trace.step(step);
  }
}

std::vector<std::unique_ptr<DeviceTimeline>> timelines_of(const Analysis& analysis) {
  std::vector<std::unique_ptr<DeviceTimeline>> timelines;
  for (const analyzer::DeviceAnalysis& device : analysis.devices) {
    auto timeline = DeviceTimeline::make(analysis, device, {});
    EXPECT_TRUE(timeline.ok());
    timelines.push_back(std::move(*timeline));
  }
  return timelines;
}

/// The groups of the scene at a unit, by name. Groups without a color of their own are summed.
std::map<std::string, std::int64_t> groups_of(const DeviceTimeline& timeline, scene::Unit unit) {
  const scene::GroupBytes bytes = timeline.document().curve->groups_at(unit);
  std::map<std::string, std::int64_t> groups;
  for (std::size_t i = 0; i < scene::kGroups; ++i) {
    const bool named = i < timeline.document().groups.size();
    if (bytes[i] != 0) groups[named ? timeline.document().groups[i] : "others"] += bytes[i];
  }
  return groups;
}

TEST(DeviceTimeline, ShowsWhatTheAnalyzerSays) {
  std::size_t findings = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    TestTrace trace;
    random_program(trace, random);
    const TraceData data = trace.load();
    const Analysis analysis = analyzer::analyze(data);
    for (const std::unique_ptr<DeviceTimeline>& timeline : timelines_of(analysis)) {
      const analyzer::DeviceAnalysis& device = timeline->device();
      const scene::Document& document = timeline->document();
      EXPECT_EQ(document.curve->peak(), device.what_if.measured.bytes.value);
      EXPECT_EQ(timeline->sequence_of(document.curve->peak_at()), device.what_if.measured.seq);
      // Compares the curve and what is alive, at every point.
      for (std::int64_t seq = 1; seq <= trace.last_seq(); ++seq) {
        const scene::Unit unit = timeline->unit_of(Sequence(seq));
        std::set<const analyzer::Block*> drawn;
        for (scene::LifetimeId id = 0; id < timeline->recording().lifetimes().size(); ++id) {
          const scene::Lifetime& each = timeline->recording().lifetimes()[id];
          if (each.from <= unit && unit < each.to) drawn.insert(&timeline->block_of(id));
        }
        const std::vector<const analyzer::Block*> live = analyzer::live_blocks(data, device.device, Sequence(seq));
        EXPECT_EQ(drawn, (std::set<const analyzer::Block*>(live.begin(), live.end())))
            << "seed " << seed << " at " << seq;
        std::int64_t bytes = 0;
        for (const analyzer::Block* block : live) bytes += block->bytes.value;
        EXPECT_EQ(document.curve->at(unit), bytes) << "seed " << seed << " at " << seq;
      }
      // Fixes findings: each alone, and all together.
      for (const analyzer::Finding& finding : analysis.findings) {
        if (finding.device != device.device || !finding.predicted_peak) continue;
        ++findings;
        const auto without = timeline->without({finding.number});
        EXPECT_EQ(without->peak, *finding.predicted_peak) << "seed " << seed;
        ASSERT_NE(without->curve, nullptr);
        EXPECT_EQ(without->curve->peak(), finding.predicted_peak->value) << "seed " << seed;
        EXPECT_FALSE(timeline->lifetimes_of(finding.number).empty());
      }
      ASSERT_NE(timeline->shown(), nullptr);
      EXPECT_EQ(timeline->shown()->peak, device.what_if.predicted.bytes) << "seed " << seed;
      if (document.without != nullptr) {
        EXPECT_EQ(document.without->peak(), device.what_if.predicted.bytes.value);
        EXPECT_EQ(document.without->left_out_at(document.curve->peak_at()), device.what_if.dead_at_peak.value);
      }
      EXPECT_EQ(timeline->without({})->peak, device.what_if.measured.bytes);
      // The composition of the area.
      for (const analyzer::GroupName& by : analyzer::kGroupNames) {
        if (by.by == analyzer::GroupBy::kOrigin) continue;  // it changes while a block lives
        timeline->stack_by(by.by);
        const Sequence at = device.what_if.measured.seq;
        std::map<std::string, std::int64_t> expected;
        for (const analyzer::Group& group :
             analyzer::group_blocks(data, analysis.phases, analyzer::live_blocks(data, device.device, at), by.by, at)) {
          expected[expected.size() + 1 < scene::kGroups ? group.name : "others"] += group.bytes.value;
        }
        EXPECT_EQ(groups_of(*timeline, document.curve->peak_at()), expected) << "seed " << seed << " " << by.name;
      }
    }
  }
  EXPECT_GT(findings, 20U) << "the programs have nothing to find";
}

TEST(DeviceTimeline, EachLifetimeHasTheAddressOfItsRow) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    TestTrace trace;
    random_program(trace, random);
    // Ids follow the order of births, with some exceptions.
    const TraceData data = trace.load("UPDATE block SET id = 1000000 - id WHERE id % 5 = 2");
    const std::string file = (trace.folder() / "rank0.dcmt").string();
    std::map<std::int64_t, scene::Address> addresses;
    const Status read = read_addresses(
        file, [&](BlockId block, std::uint64_t address) { addresses[block.value] = address; }, analyzer::Watch());
    ASSERT_TRUE(read.ok());
    const Analysis analysis = analyzer::analyze(data);
    for (const std::unique_ptr<DeviceTimeline>& timeline : timelines_of(analysis)) {
      const auto by_address = timeline->by_address(
          [&](const ReceiveAddress& receive) { return read_addresses(file, receive, analyzer::Watch()); });
      ASSERT_TRUE(by_address.ok());
      for (scene::LifetimeId id = 0; id < timeline->recording().lifetimes().size(); ++id) {
        ASSERT_EQ((*by_address)->addresses[id], addresses.at(timeline->block_of(id).id.value)) << "seed " << seed;
      }
    }
  }
}

// For the thread sanitizer: a window restacks the area while a thread computes the curve without a finding.
TEST(DeviceTimeline, WhatWouldBeIsFoundWhileTheAreaIsStackedAnew) {
  TestTrace trace;
  std::mt19937 random(1);
  random_program(trace, random);
  const TraceData data = trace.load();
  const Analysis analysis = analyzer::analyze(data);
  ASSERT_FALSE(analysis.findings.empty());
  for (const std::unique_ptr<DeviceTimeline>& timeline : timelines_of(analysis)) {
    const auto before = timeline->without({1});
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        for (int times = 0; times < 20; ++times) EXPECT_EQ(timeline->without({1})->peak, before->peak);
      });
    }
    for (int times = 0; times < 20; ++times) {
      timeline->stack_by(times % 2 == 0 ? analyzer::GroupBy::kPhase : analyzer::GroupBy::kSite);
    }
  }
}

TEST(DeviceTimeline, FindsBarsByOperatorAndSite) {
  TestTrace trace;
  trace.stack = {{"/home/user/Model.py", "forward", 7}};
  trace.allocate(100);
  trace.stack = {{"/home/user/train.py", "main", 7}};
  trace.op("aten::MM", [&] { trace.allocate(100); });
  trace.op("aten::add", [&] { trace.allocate(100); });
  const TraceData data = trace.load();
  const Analysis analysis = analyzer::analyze(data);
  const auto timelines = timelines_of(analysis);
  const DeviceTimeline& timeline = *timelines.front();
  EXPECT_EQ(timeline.find("model.PY:7"), std::vector<scene::LifetimeId>{0});
  EXPECT_EQ(timeline.find("mm"), std::vector<scene::LifetimeId>{1});
  EXPECT_EQ(timeline.find("aten::"), (std::vector<scene::LifetimeId>{1, 2}));
  EXPECT_EQ(timeline.find("train"), (std::vector<scene::LifetimeId>{1, 2}));
  EXPECT_TRUE(timeline.find("").empty());
  EXPECT_TRUE(timeline.find("conv").empty());
}

TEST(DeviceTimeline, WhereOnlySumsWereKept) {
  TestTrace trace;
  const TestTrace::Handle a = trace.allocate(100);
  trace.step(0);
  trace.kept_interval(0, Kept::kAll);
  trace.sums_only_interval(1, 6, 100, 700, 120);
  trace.drop(a);
  trace.step(2);
  trace.kept_interval(2, Kept::kLast);
  const TraceData data = trace.load();
  const Analysis analysis = analyzer::analyze(data);
  const auto timelines = timelines_of(analysis);
  const scene::Document& document = timelines.front()->document();
  EXPECT_EQ(document.curve->peak(), 700);
  ASSERT_EQ(document.sums_only.size(), 1U);
  EXPECT_EQ(timelines.front()->sequence_of(document.sums_only.front().from), Sequence(3));
  EXPECT_EQ(timelines.front()->sequence_of(document.sums_only.front().to), Sequence(9));
}

TEST(DeviceTimeline, OfATraceWithoutBlocks) {
  TestTrace trace;
  trace.op("aten::mm");
  const TraceData data = trace.load();
  const Analysis analysis = analyzer::analyze(data);
  const auto timelines = timelines_of(analysis);
  ASSERT_EQ(timelines.size(), 1U);
  EXPECT_EQ(timelines.front()->document().curve->peak(), 0);
  EXPECT_EQ(timelines.front()->unit_of(Sequence(99)), 0U);
}

TEST(DeviceTimeline, ShowsWhereRecordsWereLost) {
  TestTrace trace;
  const TestTrace::Handle kept = trace.allocate(1 << 20);
  trace.allocate(1 << 20);
  for (int i = 0; i < 3; ++i) trace.lose();
  trace.allocate(1 << 20);
  trace.drop(kept);
  const TraceData data = trace.load();
  const Analysis analysis = analyzer::analyze(data);
  const auto timeline = DeviceTimeline::make(analysis, analysis.main(), {});
  ASSERT_TRUE(timeline.ok());
  const std::vector<scene::Named>& lost = (*timeline)->document().lost;
  ASSERT_EQ(lost.size(), 1U) << "all of them between two events";
  EXPECT_EQ(lost.front().name, "3 lost");
  EXPECT_EQ(lost.front().from, (*timeline)->unit_of(data.losses.begin()->from_seq));
  EXPECT_EQ(lost.front().to, lost.front().from + 1);
}

/// As after a spool that was full: the record after it has the begin of the loss, and comes between two events.
TEST(DeviceTimeline, ALossLastsFromTheLastBlockBeforeItUpToTheNextEvent) {
  TestTrace trace;
  trace.allocate(1 << 20);
  const TestTrace::Handle last = trace.allocate(1 << 20);
  trace.drop(last);
  trace.lose();
  trace.allocate(1 << 20);
  TraceData data = trace.load();
  const analyzer::Block& before = *std::next(data.blocks.begin());
  const analyzer::Block& after = *std::next(data.blocks.begin(), 2);
  analyzer::Loss loss = *data.losses.begin();
  loss.from_ns = before.span.from_ns;
  data.losses = {};
  data.losses.push_back(loss);
  const Analysis analysis = analyzer::analyze(data);
  const auto timeline = DeviceTimeline::make(analysis, analysis.main(), {});
  ASSERT_TRUE(timeline.ok());
  const std::vector<scene::Named>& lost = (*timeline)->document().lost;
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(lost.front().from, (*timeline)->unit_of(before.span.from_seq));
  EXPECT_EQ(lost.front().to, (*timeline)->unit_of(after.span.from_seq));
  EXPECT_EQ(lost.front().to - lost.front().from, 2U) << "with the unit after its end";
}

TEST(DeviceTimeline, StretchesOfSumsThatFollowEachOtherAreOne) {
  TestTrace trace;
  trace.sums_only_interval(1, 6, 0, 700, 120);
  trace.sums_only_interval(2, 6, 120, 800, 120);
  trace.allocate(10);
  trace.kept_interval(3, Kept::kLast);
  trace.sums_only_interval(4, 6, 130, 200, 130);
  trace.sums_only_interval(5, 6, 130, 200, 130);
  const TraceData data = trace.load();
  const Analysis analysis = analyzer::analyze(data);
  const auto timelines = timelines_of(analysis);
  const std::vector<scene::Named>& sums = timelines.front()->document().sums_only;
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].from, 0U) << "the run begins with one";
  EXPECT_LT(sums[0].to, sums[1].from);
  EXPECT_EQ(sums[1].to, timelines.front()->unit_of(Sequence(trace.last_seq())));
}

TEST(Session, StopsWhenAskedTo) {
  TestTrace trace;
  trace.allocate(100);
  (void)trace.load();
  const std::string path = (trace.folder() / "rank0.dcmt").string();
  const std::atomic<bool> stop{true};
  const auto stopped = open_session(path, {{}, &stop});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kStopped);
  double last = 0;
  const auto opened = open_session(path, {[&](double share) {
                                            EXPECT_GE(share, last);
                                            last = share;
                                          },
                                          nullptr});
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ(last, 1);
  EXPECT_EQ((*opened)->report.peak.bytes, Bytes(100));
}

TEST(Session, WhatIsNoTraceIsOneLine) {
  for (const char* path : {"/nowhere/at.dcmt", "/", "/dev/null"}) {
    const auto opened = open_session(path);
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace dcmt::load
