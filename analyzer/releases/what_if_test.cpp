#include "analyzer/releases/what_if.h"

#include <gtest/gtest.h>

#include <random>

#include "analyzer/releases/analyze_releases.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

WhatIf what_if_of(const TraceData& data) {
  const Releases releases = analyze_releases(data);
  return what_if(data, devices_of(data).front(), releases.residual());
}

TEST(WhatIfTest, TwelveLayersPrefetchedByOne) {
  TestTrace defect;
  testing::add_zero3_graph(defect, 12, 1'048'584, false);
  const TraceData data = defect.load();
  const WhatIf result = what_if_of(data);
  EXPECT_EQ(result.measured.bytes, Bytes(12 * 1'048'584));
  EXPECT_EQ(result.predicted.bytes, Bytes(2 * 1'048'584));
  EXPECT_EQ(result.dead_at_peak, Bytes(10 * 1'048'584));
  EXPECT_EQ(result.needed_at_peak, Bytes(2 * 1'048'584));
  EXPECT_FALSE(result.last_use_known);
  EXPECT_EQ(result.predicted_last_use.bytes, result.predicted.bytes);

  TestTrace fixed;
  testing::add_zero3_graph(fixed, 12, 1'048'584, true);
  const TraceData fixed_data = fixed.load();
  EXPECT_EQ(peak_of(fixed_data, devices_of(fixed_data).front()).bytes, result.predicted.bytes);
}

TEST(WhatIfTest, AStorageReadAfterItsReleaseStaysUntilThatRead) {
  TestTrace trace;
  TestTrace::Handle a = 0;
  trace.op("gather", [&] {
    a = trace.allocate(100);
    trace.gather(0, a);
  });
  const auto release = trace.release(0, a);
  trace.op("aten::mm", [&] { trace.read(release, 0, a, "aten::mm"); });
  trace.op("aten::add", [&] { trace.allocate(30); });
  trace.drop(a);
  const TraceData data = trace.load();
  const WhatIf result = what_if_of(data);
  EXPECT_EQ(result.measured.bytes, Bytes(130));
  EXPECT_EQ(result.predicted.bytes, Bytes(130)) << "freeing at the release would break the program";
  EXPECT_TRUE(result.last_use_known);
  EXPECT_EQ(result.predicted_last_use.bytes, Bytes(100));
}

TEST(WhatIfTest, AStorageThatIsGatheredAgainIsNeededAgain) {
  TestTrace trace;
  TestTrace::Handle a = 0;
  trace.op("gather", [&] {
    a = trace.allocate(100);
    trace.gather(0, a);
  });
  trace.release(0, a);
  trace.op("aten::add", [&] { trace.drop(trace.allocate(50)); });
  trace.op("gather", [&] { trace.gather(0, a); });
  trace.op("aten::add", [&] { trace.drop(trace.allocate(20)); });
  trace.release(0, a);
  trace.op("aten::add");
  trace.drop(a);
  const TraceData data = trace.load();
  const WhatIf result = what_if_of(data);
  EXPECT_EQ(result.measured.bytes, Bytes(150));
  EXPECT_EQ(result.predicted.bytes, Bytes(150)) << "the buffer is kept for it by design";
}

TEST(WhatIfTest, AGapIsOpenFromItsBeginUntilItsEndWhileItsBlockLives) {
  TestTrace trace;
  const auto a = trace.allocate(100);
  for (int i = 0; i < 4; ++i) trace.op("aten::add");
  trace.drop(a);
  trace.op("aten::add");
  const TraceData data = trace.load();
  const Block& block = *data.blocks.begin();
  std::vector<Sequence> at;
  for (const Operator& op : data.operators) at.push_back(op.span.from_seq);
  ASSERT_EQ(at.size(), 5u);
  const auto open = [&](const Gap& gap) {
    std::vector<std::int64_t> bytes;
    for (const Sequence point : at) bytes.push_back(bytes_in_gaps({gap}, block.device, point).value);
    return bytes;
  };
  EXPECT_EQ(open({&block, at[1], at[3]}), (std::vector<std::int64_t>{0, 100, 100, 0, 0}));
  EXPECT_EQ(open({&block, at[1], Sequence()}), (std::vector<std::int64_t>{0, 100, 100, 100, 0}));
  EXPECT_EQ(bytes_in_gaps({{&block, at[1], at[3]}}, StringId(), at[2]), Bytes(0)) << "of another device";
}

/// A random program: gathers with some prefetch, uses, releases (some counted twice, some persistent), allocations
/// around them. The test replays the program with plain numbers, releases that free, and compares the peaks.
class RandomPlan {
 public:
  explicit RandomPlan(unsigned seed) : random_(seed) {}

  void build(TestTrace& trace) {
    const std::int64_t layers = pick(1, 14);
    const std::int64_t prefetch = pick(0, 4);
    const int graphs = static_cast<int>(pick(1, 3));
    std::vector<std::int64_t> sizes;
    std::vector<bool> persistent;
    for (std::int64_t k = 0; k < layers; ++k) {
      sizes.push_back(pick(1, 5000));
      persistent.push_back(pick(0, 9) == 0);
      if (persistent.back()) trace.persist(k);
    }
    for (int graph = 0; graph < graphs; ++graph) run_graph(trace, sizes, persistent, prefetch);
  }

  [[nodiscard]] std::int64_t healthy_peak() const { return healthy_peak_; }
  [[nodiscard]] std::int64_t defect_peak() const { return defect_peak_; }

 private:
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  void count(std::int64_t healthy, std::int64_t defect) {
    healthy_ += healthy;
    defect_ += defect;
    healthy_peak_ = std::max(healthy_peak_, healthy_);
    defect_peak_ = std::max(defect_peak_, defect_);
  }

  void noise(TestTrace& trace) {
    if (pick(0, 2) == 0) {
      const std::int64_t bytes = pick(1, 4000);
      trace.op("aten::add", [&] { others_.emplace_back(trace.allocate(bytes), bytes); });
      count(bytes, bytes);
    }
    if (!others_.empty() && pick(0, 2) == 0) {
      const auto at = static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(others_.size()) - 1));
      trace.drop(others_[at].first);
      count(-others_[at].second, -others_[at].second);
      others_.erase(others_.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  void run_graph(TestTrace& trace, const std::vector<std::int64_t>& sizes, const std::vector<bool>& persistent,
                 std::int64_t prefetch) {
    const auto layers = static_cast<std::int64_t>(sizes.size());
    std::vector<TestTrace::Handle> handles(sizes.size());
    std::int64_t gathered = 0;
    for (std::int64_t k = 0; k < layers; ++k) {
      for (; gathered < layers && gathered <= k + prefetch; ++gathered) {
        const auto g = static_cast<std::size_t>(gathered);
        trace.op("gather", [&] {
          handles[g] = trace.allocate(sizes[g]);
          trace.gather(gathered, handles[g]);
        });
        count(sizes[g], sizes[g]);
        noise(trace);
      }
      const auto i = static_cast<std::size_t>(k);
      trace.wait(k, handles[i]);
      trace.op("aten::addmm");
      noise(trace);
      const std::int64_t uses = pick(1, 2);
      for (std::int64_t left = uses - 1; left >= 0; --left) {
        std::string flags = left == 0 ? "final" : "";
        if (persistent[i]) flags += flags.empty() ? "persistent" : ",persistent";
        trace.release(k, handles[i], {.declared = uses, .remaining = left, .flags = flags});
        if (left == 0 && !persistent[i]) count(-sizes[i], 0);
        noise(trace);
      }
    }
    trace.op("aten::sum");
    // The wrapper returns: what the defect kept goes now.
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      trace.drop(handles[i]);
      count(persistent[i] ? -sizes[i] : 0, -sizes[i]);
    }
    noise(trace);
  }

  std::mt19937 random_;
  std::vector<std::pair<TestTrace::Handle, std::int64_t>> others_;
  std::int64_t healthy_ = 0, defect_ = 0, healthy_peak_ = 0, defect_peak_ = 0;
};

TEST(WhatIfTest, PredictsTheHealthyPeakOfFiftyRandomPlansExactly) {
  int different = 0;
  for (unsigned seed = 1; seed <= 50; ++seed) {
    RandomPlan plan(seed);
    TestTrace trace;
    plan.build(trace);
    const TraceData data = trace.load();
    const WhatIf result = what_if_of(data);
    EXPECT_EQ(result.measured.bytes.value, plan.defect_peak()) << "plan " << seed;
    EXPECT_EQ(result.predicted.bytes.value, plan.healthy_peak()) << "plan " << seed;
    different += plan.healthy_peak() != plan.defect_peak() ? 1 : 0;
  }
  EXPECT_GT(different, 25) << "the plans must show the defect to test anything";
}

TEST(WhatIfTest, AReadOutsideOfOperatorsIsTheLastUseToo) {
  TestTrace trace;
  const TestTrace::Handle a = trace.allocate(100);
  trace.gather(0, a);
  const auto release = trace.release(0, a);
  trace.drop(trace.allocate(40));
  trace.read(release, 0, a, "kernel");
  trace.op("aten::add", [&] { trace.drop(trace.allocate(30)); });
  trace.drop(a);
  const TraceData data = trace.load();
  EXPECT_EQ(what_if_of(data).predicted_last_use.bytes, Bytes(140)) << "it is in use while the 40 are there";
}

}  // namespace
}  // namespace dcmt::analyzer
