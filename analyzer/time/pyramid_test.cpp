#include "analyzer/time/pyramid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "analyzer/testing/test_trace.h"
#include "analyzer/time/curve.h"
#include "analyzer/time/curve_overview.h"
#include "trace/sql/meta_keys.h"
#include "trace/sql/trace_file.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

/// Random births and deaths on two devices, written as a recorder writes them, and the heights counted on the way.
class RandomCurve {
 public:
  explicit RandomCurve(unsigned seed) : random_(seed) {
    const int events = 1 + pick(pick(3) == 0 ? 100 : 20'000);
    for (int i = 0; i < events; ++i) {
      seq_ += 1 + pick(4);
      ns_ += pick(50);
      if (live_.empty() || pick(100) < 52) {
        begin();
      } else {
        end(static_cast<std::size_t>(pick(static_cast<int>(live_.size()))));
      }
    }
  }

  using Heights = std::map<std::int64_t, std::int64_t>;  ///< bytes after the change at a sequence
  std::map<std::string, Heights> heights;

  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  [[nodiscard]] std::int64_t last_seq() const { return seq_; }

  /// @param finished  false: as a recorder that was killed leaves it
  Database write(const std::string& path, bool finished) {
    Expected<Database> database = create_trace(path);
    Expected<TraceWriter> writer = TraceWriter::create(std::move(*database));
    EXPECT_TRUE(writer->begin().ok());
    for (const BlockRow& row : rows_) EXPECT_TRUE(writer->write(row).ok());
    EXPECT_TRUE(writer->set_meta(meta::kLastSeq, seq_).ok());
    EXPECT_TRUE(writer->set_meta(meta::kEndNs, ns_).ok());
    EXPECT_TRUE(writer->commit().ok());
    if (finished) {
      EXPECT_TRUE(finish_trace(writer->database()).ok());
    }
    return std::move(*open_trace(path));
  }

 private:
  void begin() {
    BlockRow row;
    row.id = seq_;
    row.bytes = pick(1000);
    if (pick(3) == 0) row.gpu = 0;
    row.span.from = {seq_, ns_};
    live_.push_back(rows_.size());
    change(row, row.bytes);
    rows_.push_back(row);
  }
  void end(std::size_t which) {
    BlockRow& row = rows_[live_[which]];
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(which));
    row.span.to = {seq_, ns_};
    change(row, -row.bytes);
  }
  void change(const BlockRow& row, std::int64_t delta) {
    Heights& of_device = heights[row.gpu ? "cuda:0" : "cpu"];
    const std::int64_t before = of_device.empty() ? 0 : of_device.rbegin()->second;
    of_device[seq_] = before + delta;
  }

  std::mt19937 random_;
  std::vector<BlockRow> rows_;
  std::vector<std::size_t> live_;
  std::int64_t seq_ = 0, ns_ = 1000;
};

void expect_exact(const CurveStretch& stretch, const RandomCurve::Heights& heights) {
  const auto begin = heights.lower_bound(stretch.from.value);
  const auto end = heights.lower_bound(stretch.to.value);
  ASSERT_NE(begin, end);
  EXPECT_EQ(begin->first, stretch.from.value) << "it begins with a change";
  const auto by_height = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto highest = std::max_element(begin, end, by_height);
  EXPECT_EQ(stretch.lowest.value, std::min_element(begin, end, by_height)->second);
  EXPECT_EQ(stretch.highest.value, highest->second);
  EXPECT_EQ(stretch.highest_seq.value, highest->first);
  EXPECT_EQ(stretch.last.value, std::prev(end)->second);
  EXPECT_FALSE(stretch.only_peaks);
}

class PyramidProperty : public ::testing::TestWithParam<unsigned> {};

TEST_P(PyramidProperty, AnyStretchAtAnyWidthHasItsExactExtremes) {
  RandomCurve curve(GetParam());
  TestTrace folder;
  for (const bool finished : {true, false}) {
    Database database = curve.write((folder.folder() / (finished ? "a" : "b")).string(), finished);
    Expected<Pyramid> pyramid = Pyramid::open(database);
    ASSERT_TRUE(pyramid.ok()) << pyramid.error().message;
    EXPECT_EQ(pyramid->stored(), finished);
    ASSERT_EQ(pyramid->devices().size(), curve.heights.size());
    for (const DeviceCurve& device : pyramid->devices()) {
      const RandomCurve::Heights& heights = curve.heights.at(device.device);
      expect_exact(device.whole, heights);
      for (int i = 0; i < 40; ++i) {
        std::int64_t from = 1 + curve.pick(static_cast<int>(curve.last_seq()));
        std::int64_t to = 1 + curve.pick(static_cast<int>(curve.last_seq()));
        if (to < from) std::swap(from, to);
        const auto most = static_cast<std::size_t>(1 + curve.pick(i % 2 == 0 ? 10 : 300));
        const auto stretches = pyramid->stretches(device, Sequence(from), Sequence(to), most);
        ASSERT_TRUE(stretches.ok()) << stretches.error().message;
        ASSERT_LE(stretches->size(), most);
        if (to < heights.begin()->first) {
          EXPECT_TRUE(stretches->empty());
          continue;
        }
        ASSERT_FALSE(stretches->empty());
        EXPECT_LE(stretches->front().from.value, std::max(from, heights.begin()->first));
        EXPECT_GT(stretches->back().to.value, to);
        for (std::size_t n = 0; n < stretches->size(); ++n) {
          expect_exact((*stretches)[n], heights);
          if (n == 0) continue;
          EXPECT_EQ((*stretches)[n].from, (*stretches)[n - 1].to) << "no gap, no overlap";
        }
        // No wider than asked for: as many as fit, up to a factor of two, or level 0.
        const auto changes = std::distance(heights.lower_bound(stretches->front().from.value),
                                           heights.lower_bound(stretches->back().to.value));
        EXPECT_GE(stretches->size() * 2, std::min(most, static_cast<std::size_t>(changes + 63) / 64));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PyramidProperty, ::testing::Range(1u, 13u));

/// Steps 0 to 2, of which only sums of 1 are there; 300 bytes at the end of step 0, 700 in step 1, 120 after it.
void windows(TestTrace& trace) {
  trace.allocate(100);
  const auto high = trace.allocate(200);
  trace.step(0);
  trace.kept_interval(0, Kept::kAll);
  trace.sums_only_interval(1, 6, 300, 700, 120);
  trace.drop(high);
  trace.step(2);
  trace.kept_interval(2, Kept::kLast);
}

TEST(Pyramid, PeaksBetweenTheWindowsAreThereAndWhatIsNotKnownIsSaid) {
  TestTrace trace;
  windows(trace);
  const TraceData data = trace.load();
  Database database = std::move(*open_trace(trace.save()));
  const Expected<Pyramid> pyramid = Pyramid::open(database);
  ASSERT_TRUE(pyramid.ok()) << pyramid.error().message;
  ASSERT_EQ(pyramid->devices().size(), 1u);
  const CurveStretch& whole = pyramid->devices().front().whole;
  const Peak peak = peak_of(data, devices_of(data).front());
  EXPECT_EQ(whole.highest, peak.bytes);
  EXPECT_EQ(whole.highest_seq, peak.seq);
  EXPECT_EQ(whole.highest_ns, peak.ns);
  EXPECT_EQ(whole.highest, Bytes(700));
  EXPECT_TRUE(whole.only_peaks);
  EXPECT_EQ(whole.last, Bytes(-80)) << "by hand: the block of 200 ended after an end of 120";
}

TEST(CurveOverview, NamesTheStepsOfARow) {
  TestTrace trace;
  for (std::int64_t step = 5; step < 10; ++step) {
    for (int i = 0; i < 32; ++i) trace.drop(trace.allocate(10 * step + i));
    trace.step(step);
    trace.kept_interval(step, Kept::kAll);
  }
  trace.drop(trace.allocate(1));
  trace.kept_interval(std::nullopt, Kept::kLast);
  Database database = std::move(*open_trace(trace.save()));
  const auto steps_of = [&](const CurveQuestion& question) {
    std::vector<std::pair<std::int64_t, std::int64_t>> steps;
    const Expected<CurveOverview> overview = curve_overview(database, question);
    EXPECT_TRUE(overview.ok()) << overview.error().message;
    for (const CurveRow& row : overview->rows) {
      steps.emplace_back(row.steps ? row.steps->first : -1, row.steps ? row.steps->last : -1);
    }
    return steps;
  };
  using Steps = std::vector<std::pair<std::int64_t, std::int64_t>>;
  // 64 changes each; the last row begins after the last step.
  EXPECT_EQ(steps_of({"", "", "", 10}), (Steps{{5, 5}, {6, 6}, {7, 7}, {8, 8}, {9, 9}, {-1, -1}}));
  EXPECT_EQ(steps_of({"", "", "", 2}), (Steps{{5, 7}, {8, 9}}));
  EXPECT_EQ(steps_of({"cpu", "step:7", "step:7", 10}), (Steps{{7, 7}}));
  EXPECT_EQ(steps_of({"", "1", "2", 10}), (Steps{{5, 5}}));
}

TEST(StepLookup, FindsStepsThatShareTheirSumsAndThoseOfSeveralIntervals) {
  TestTrace trace;
  trace.user_mark("1");
  trace.kept_interval(0, Kept::kAll);  // (0, 1]
  trace.user_mark("2");
  trace.kept_interval(std::nullopt, Kept::kAll);  // (1, 2]: a part of step 1
  trace.user_mark("3");
  trace.kept_interval(1, Kept::kAll);       // (2, 3]
  trace.sums_only_interval(4, 6, 1, 1, 1);  // (3, 9]
  trace.user_mark("10");
  trace.kept_interval(std::nullopt, Kept::kLast);  // (9, 10]
  const std::string path = trace.save();
  {
    Database database = std::move(*Database::open(path, OpenMode::kReadWrite));
    ASSERT_TRUE(database.execute("UPDATE interval SET steps = 3 WHERE step = 4").ok());
  }
  Database database = std::move(*open_trace(path));
  Expected<StepLookup> lookup = StepLookup::open(database);
  ASSERT_TRUE(lookup.ok()) << lookup.error().message;
  const auto between = [&](std::int64_t from, std::int64_t to) {
    const auto steps = lookup->between(Sequence(from), Sequence(to));
    EXPECT_TRUE(steps.ok());
    return *steps ? std::pair((*steps)->first, (*steps)->last) : std::pair<std::int64_t, std::int64_t>(-1, -1);
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(between(1, 1), Pair(0, 0));
  EXPECT_EQ(between(2, 2), Pair(1, 1));
  EXPECT_EQ(between(1, 3), Pair(0, 1));
  EXPECT_EQ(between(3, 9), Pair(1, 4));
  EXPECT_EQ(between(5, 5), Pair(2, 4));
  EXPECT_EQ(between(5, 10), Pair(2, 4));
  EXPECT_EQ(between(10, 10), Pair(-1, -1));
  const auto ends = [&](std::int64_t step) {
    const auto found = lookup->ends_of(step);
    EXPECT_TRUE(found.ok());
    return *found ? Pair((*found)->first.value, (*found)->second.value) : Pair(-1, -1);
  };
  EXPECT_EQ(ends(0), Pair(1, 1));
  EXPECT_EQ(ends(1), Pair(2, 3));
  EXPECT_EQ(ends(3), Pair(4, 9));
  EXPECT_EQ(ends(5), Pair(-1, -1));
}

TEST(CurveOverview, WhatIsNotThereIsAUsageError) {
  TestTrace trace;
  trace.drop(trace.allocate(10));
  Database database = std::move(*open_trace(trace.save()));
  for (const CurveQuestion& question :
       {CurveQuestion{"cuda:3", "", "", 5}, CurveQuestion{"", "step:1", "", 5}, CurveQuestion{"", "", "middle", 5},
        CurveQuestion{"", "0", "", 5}, CurveQuestion{"", "3", "1", 5}}) {
    const Expected<CurveOverview> overview = curve_overview(database, question);
    ASSERT_FALSE(overview.ok());
    EXPECT_EQ(overview.error().code, ErrorCode::kUsage);
  }
  EXPECT_TRUE(curve_overview(database, {"", "1", "3", 5}).ok()) << "a failure leaves nothing behind";
}

TEST(Pyramid, OneThatIsDamagedIsRefused) {
  TestTrace trace;
  for (int i = 0; i < 200; ++i) trace.drop(trace.allocate(10 + i));
  for (const char* damage :
       {"UPDATE pyramid SET highest = lowest - 1 WHERE level = 0", "UPDATE pyramid SET last = highest + 1",
        "UPDATE pyramid SET highest_seq = from_seq + 100000 WHERE level = 0",
        "UPDATE pyramid SET highest = 1 << 40, last = 0 WHERE level = 0", "DELETE FROM pyramid WHERE level = 0",
        "UPDATE pyramid SET level = 3 WHERE level = 0", "UPDATE pyramid SET device = x'00'",
        "UPDATE pyramid SET from_seq = -from_seq", "UPDATE pyramid SET highest_seq = 9223372036854775807",
        "UPDATE pyramid SET from_ns = 'text' || from_ns, highest_ns = -1"}) {
    const std::string path = trace.save();
    {
      Database database = std::move(*Database::open(path, OpenMode::kReadWrite));
      ASSERT_TRUE(database.execute(damage).ok()) << damage;
    }
    Database database = std::move(*open_trace(path));
    const Expected<CurveOverview> overview = curve_overview(database, {"", "", "", 50});
    ASSERT_FALSE(overview.ok()) << damage;
    EXPECT_EQ(overview.error().code, ErrorCode::kBadInput) << damage;
    EXPECT_NE(overview.error().message.find("damaged: the pyramid"), std::string::npos) << overview.error().message;
  }
}

TEST(Pyramid, NothingAllocatedHasNoDevice) {
  TestTrace trace;
  trace.user_mark("nothing");
  Database database = std::move(*open_trace(trace.save()));
  const Expected<CurveOverview> overview = curve_overview(database, {"", "", "", 5});
  ASSERT_TRUE(overview.ok());
  EXPECT_TRUE(overview->devices.empty());
  EXPECT_TRUE(overview->stored);
}

}  // namespace
}  // namespace dcmt::analyzer
