#include "analyzer/time/changes.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "analyzer/testing/test_trace.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

std::map<Sequence, std::int64_t> curve_by_changes(const TraceData& data, StringId device) {
  std::map<Sequence, std::int64_t> curve;
  std::int64_t bytes = 0;
  Sequence last;
  for_each_change(data, device, {}, [&](const Change& change) {
    EXPECT_GE(change.seq, last);
    last = change.seq;
    bytes += change.delta;
    curve[change.seq] = bytes;
  });
  return curve;
}

TEST(Changes, AddUpToTheCurve) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    TestTrace trace;
    std::vector<TestTrace::Handle> alive;
    for (int i = 0; i < 60; ++i) {
      if (alive.empty() || random() % 3 != 0) {
        trace.gpu = random() % 4 == 0 ? std::optional<std::int64_t>(0) : std::nullopt;
        alive.push_back(trace.allocate(1 + static_cast<std::int64_t>(random() % 1000)));
      } else {
        const std::size_t at = random() % alive.size();
        trace.drop(alive[at]);
        alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    const TraceData data = trace.load();
    for (const StringId device : devices_of(data)) {
      const std::map<Sequence, std::int64_t> curve = curve_by_changes(data, device);
      std::size_t points = 0;
      for_each_point(data, device, {}, [&](const CurvePoint& point) {
        ++points;
        ASSERT_TRUE(curve.contains(point.seq));
        EXPECT_EQ(curve.at(point.seq), point.bytes.value);
      });
      EXPECT_EQ(points, curve.size());
    }
  }
}

/// Blocks that begin or end where only sums were kept do so at its end, and the curve is what the sums say.
TEST(Changes, OfSumsGoToTheirPeakAndToTheirEnd) {
  TestTrace trace;
  const TestTrace::Handle a = trace.allocate(100);
  trace.step(0);
  trace.kept_interval(0, Kept::kAll);
  trace.sums_only_interval(1, 6, 100, 700, 120);
  trace.drop(a);
  trace.step(2);
  trace.kept_interval(2, Kept::kLast);
  const TraceData data = trace.load();
  const std::map<Sequence, std::int64_t> curve = curve_by_changes(data, devices_of(data).front());
  std::vector<std::pair<std::int64_t, std::int64_t>> points;
  for (const auto& [seq, bytes] : curve) points.emplace_back(seq.value, bytes);
  EXPECT_EQ(points, (std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 100}, {5, 700}, {9, 120}, {11, 20}}));
}

TEST(Changes, PointsComeAfterWhatHappensThen) {
  TestTrace trace;
  const TestTrace::Handle a = trace.allocate(100);
  trace.drop(a);
  const TraceData data = trace.load();
  const Block& block = *data.blocks.begin();
  std::vector<Change::What> order;
  for_each_change(data, block.device,
                  {{block.span.to_seq, block.span.to_ns}, {block.span.from_seq, block.span.from_ns}},
                  [&](const Change& change) { order.push_back(change.what); });
  using What = Change::What;
  EXPECT_EQ(order, (std::vector<What>{What::kBegin, What::kPoint, What::kEnd, What::kPoint}));
}

}  // namespace
}  // namespace dcmt::analyzer
