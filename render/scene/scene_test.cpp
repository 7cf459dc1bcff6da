#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <string>

#include "render/scene/band_curves.h"
#include "render/scene/curve.h"
#include "render/scene/lanes.h"
#include "render/scene/round_bytes.h"
#include "render/scene/testing.h"
#include "render/scene/view.h"
#include "render/scene/view_history.h"

namespace dcmt::scene {
namespace {

using testing::bytes_by_unit;
using testing::random_below;
using testing::random_recording;

constexpr int kRecordings = 1000;
constexpr std::uint16_t kBands = 3;

/// A random range of the recording, from all of it to less than one event.
View random_view(const Recording& recording, std::mt19937& random) {
  View view(recording, random_below(random, 2) == 0 ? Axis::kTime : Axis::kEvents);
  const double width = view.length() * std::pow(0.5, random_below(random, 14));
  const double from = (view.length() - width) * random_below(random, 1001) / 1000.0;
  view.show(from, from + width);
  return view;
}

std::vector<Column> columns_of(const Recording& recording, const View& view, int count) {
  std::vector<Column> columns(static_cast<std::size_t>(count));
  find_columns(recording, view, columns);
  return columns;
}

bool touches(const Lifetime& lifetime, const Column& column) {
  return lifetime.from < column.to && column.from < lifetime.to;
}

TEST(View, ColumnsHaveTheUnitsThatLastInThem) {
  for (unsigned seed = 0; seed < kRecordings; ++seed) {
    std::mt19937 random(seed);
    const Recording recording = random_recording(random, 1 + random_below(random, 400), kBands);
    const View view = random_view(recording, random);
    const int count = 1 + random_below(random, 90);
    const std::vector<Column> columns = columns_of(recording, view, count);
    const double width = (view.to() - view.from()) / count;
    for (int i = 0; i < count; ++i) {
      const Column& column = columns[static_cast<std::size_t>(i)];
      const double x = view.from() + i * width;
      std::set<Unit> expected;
      for (Unit unit = 0; unit < recording.units(); ++unit) {
        // A unit without length lasts at its point.
        const double begin = std::floor(x);
        const double end = std::ceil(i + 1 == count ? view.to() : view.from() + (i + 1) * width);
        if (view.axis() == Axis::kEvents) {
          if (unit >= begin && unit < end) expected.insert(unit);
          continue;
        }
        const double from = view.x_of(recording, unit);
        const double to = view.x_of(recording, unit + 1);
        const bool at_once = from == to && from >= begin && from < end;
        if (at_once || (from < end && to > begin)) expected.insert(unit);
      }
      ASSERT_FALSE(expected.empty());
      EXPECT_EQ(column.from, *expected.begin()) << "seed " << seed << " column " << i;
      EXPECT_EQ(column.to, *expected.rbegin() + 1) << "seed " << seed << " column " << i;
    }
  }
}

TEST(Curve, ColumnsEqualEveryUnit) {
  for (unsigned seed = 0; seed < kRecordings; ++seed) {
    std::mt19937 random(seed);
    const Recording recording = random_recording(random, 1 + random_below(random, 900), kBands);
    const std::vector<std::int64_t> bytes = bytes_by_unit(recording);
    const Curve curve(recording);
    const std::vector<Column> columns = columns_of(recording, random_view(recording, random), 40);
    std::vector<CurveColumn> all(columns.size());
    curve.columns(columns, all);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto begin = bytes.begin() + columns[i].from;
      const auto end = bytes.begin() + columns[i].to;
      const CurveColumn& found = all[i];
      const auto highest = std::max_element(begin, end);
      EXPECT_EQ(found.highest, *highest) << "seed " << seed;
      EXPECT_EQ(found.highest_at, highest - bytes.begin()) << "seed " << seed;
      EXPECT_EQ(found.lowest, *std::min_element(begin, end)) << "seed " << seed;
      GroupBytes groups{};
      for (const Lifetime& each : recording.lifetimes()) {
        if (each.from <= found.highest_at && found.highest_at < each.to) groups[each.group] += each.bytes;
      }
      for (Unit unit = 0; unit <= found.highest_at; ++unit) {
        if (recording.event(unit).kind == Recording::Kind::kLevel) groups[kGroups - 1] += recording.change(unit).delta;
      }
      EXPECT_EQ(curve.groups_at(found.highest_at), groups) << "seed " << seed;
    }
    EXPECT_EQ(curve.peak(), *std::max_element(bytes.begin(), bytes.end()));
  }
}

TEST(Curve, WithoutIsTheCurveLessWhatIsLeftOut) {
  for (unsigned seed = 0; seed < kRecordings; ++seed) {
    std::mt19937 random(seed);
    const Recording recording = random_recording(random, 2 + random_below(random, 400), kBands);
    std::vector<std::int64_t> bytes = bytes_by_unit(recording);
    std::vector<std::int64_t> left_out(bytes.size());
    std::vector<LeftOut> changes;
    for (const Lifetime& each : recording.lifetimes()) {
      if (random_below(random, 3) != 0 || each.to - each.from < 2) continue;
      const Unit from =
          each.from + 1 + static_cast<Unit>(random_below(random, static_cast<int>(each.to - each.from - 1)));
      changes.push_back({from, -each.bytes});
      if (each.to < recording.units()) changes.push_back({each.to, each.bytes});
      for (Unit unit = from; unit < each.to; ++unit) left_out[unit] += each.bytes;
    }
    std::sort(changes.begin(), changes.end(), [](const LeftOut& a, const LeftOut& b) { return a.unit < b.unit; });
    const Curve without(recording, changes);
    for (const Column& column : columns_of(recording, random_view(recording, random), 40)) {
      std::int64_t highest = INT64_MIN;
      for (Unit unit = column.from; unit < column.to; ++unit) highest = std::max(highest, bytes[unit] - left_out[unit]);
      EXPECT_EQ(without.column(column.from, column.to).highest, highest) << "seed " << seed;
      EXPECT_EQ(without.left_out_at(column.from), left_out[column.from]) << "seed " << seed;
    }
  }
}

TEST(BandCurves, EqualEveryUnit) {
  for (unsigned seed = 0; seed < kRecordings; ++seed) {
    std::mt19937 random(seed);
    const Recording recording = random_recording(random, 1 + random_below(random, 900), kBands);
    const BandCurves curves(recording, kBands);
    const auto band = static_cast<std::uint16_t>(random_below(random, kBands));
    std::vector<std::int64_t> bytes(recording.units());
    for (const Lifetime& each : recording.lifetimes()) {
      for (Unit unit = each.from; each.band == band && unit < each.to; ++unit) bytes[unit] += each.bytes;
    }
    const std::vector<Column> columns = columns_of(recording, random_view(recording, random), 40);
    std::vector<std::int64_t> found(columns.size());
    curves.highest(band, columns, found);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      EXPECT_EQ(found[i], *std::max_element(bytes.begin() + columns[i].from, bytes.begin() + columns[i].to))
          << "seed " << seed;
    }
    EXPECT_EQ(curves.peak(band), *std::max_element(bytes.begin(), bytes.end()));
  }
}

TEST(Lanes, LifetimesOfALaneAreApartAndOfOneBand) {
  for (unsigned seed = 0; seed < kRecordings; ++seed) {
    std::mt19937 random(seed);
    const Recording recording = random_recording(random, 1 + random_below(random, 600), kBands);
    const Lanes lanes(recording, kBands);
    std::size_t drawn = 0;
    for (std::uint16_t band = 0; band < kBands; ++band) {
      // The number of lanes equals the maximum of simultaneous lifetimes.
      std::vector<std::uint32_t> alive(recording.units());
      for (const Lifetime& each : recording.lifetimes()) {
        for (Unit unit = each.from; each.band == band && unit < each.to; ++unit) ++alive[unit];
      }
      const Lanes::Band& of = lanes.bands()[band];
      EXPECT_EQ(of.count, *std::max_element(alive.begin(), alive.end())) << "seed " << seed;
      for (std::uint32_t lane = of.first; lane < of.first + of.count; ++lane) {
        Unit free_from = 0;
        for (const LifetimeId id : lanes.lane(lane)) {
          const Lifetime& each = recording.lifetimes()[id];
          EXPECT_EQ(each.band, band);
          EXPECT_GE(each.from, free_from);
          free_from = each.to;
          ++drawn;
        }
      }
    }
    std::size_t expected = 0;
    for (const Lifetime& each : recording.lifetimes()) expected += each.band < kBands ? 1 : 0;
    EXPECT_EQ(drawn, expected);
  }
}

TEST(Lanes, AColumnIsPaintedExactlyIfALifetimeTouchesIt) {
  for (unsigned seed = 0; seed < kRecordings; ++seed) {
    std::mt19937 random(seed);
    const Recording recording = random_recording(random, 1 + random_below(random, 4000), kBands);
    const Lanes lanes(recording, kBands);
    const View view = random_view(recording, random);
    const std::vector<Column> columns = columns_of(recording, view, 1 + random_below(random, 60));
    std::vector<Cell> cells(columns.size());
    std::vector<Bar> bars;
    for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) {
      bars.clear();
      lanes.draw(lane, columns, cells, 3, bars);
      for (std::size_t i = 0; i < columns.size(); ++i) {
        std::uint32_t expected = 0;
        for (const LifetimeId id : lanes.lane(lane)) expected += touches(recording.lifetimes()[id], columns[i]) ? 1 : 0;
        ASSERT_EQ(cells[i].busy > 0, expected > 0) << "seed " << seed << " lane " << lane << " column " << i;
        ASSERT_EQ(cells[i].lifetime != kNoLifetime, expected > 0);
        EXPECT_LE(cells[i].busy, 1.0F);
        if (expected > 0) {
          EXPECT_EQ(cells[i].many, expected > 1) << "seed " << seed << " lane " << lane << " column " << i;
        }
        const std::optional<Hit> hit = lanes.hit(lane, columns[i]);
        ASSERT_EQ(hit.has_value(), expected > 0);
        if (hit) {
          EXPECT_EQ(hit->more + 1, expected);
          EXPECT_TRUE(touches(recording.lifetimes()[hit->lifetime], columns[i]));
        }
      }
      std::size_t wide = 0;
      for (const LifetimeId id : lanes.lane(lane)) {
        std::size_t touched = 0;
        for (const Column& column : columns) touched += touches(recording.lifetimes()[id], column) ? 1 : 0;
        wide += touched >= 3 ? 1 : 0;
      }
      EXPECT_EQ(bars.size(), wide) << "seed " << seed << " lane " << lane;
    }
  }
}

TEST(Lanes, ReadNoMoreThanTheColumnsNeed) {
  std::mt19937 random(7);
  const Recording recording = random_recording(random, 200000, 1);
  const Lanes lanes(recording, 1);
  for (const int zoom : {0, 4, 8}) {
    View view(recording, Axis::kEvents);
    view.zoom(std::pow(2.0, zoom), 0.5);
    const std::vector<Column> columns = columns_of(recording, view, 1000);
    std::vector<Cell> cells(columns.size());
    std::vector<Bar> bars;
    std::uint64_t read = 0;
    std::uint32_t most = 0;
    for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) {
      bars.clear();
      const std::uint32_t runs = lanes.draw(lane, columns, cells, 3, bars);
      most = std::max(most, runs);
      read += runs;
    }
    EXPECT_LT(most, 8 * columns.size()) << "zoom " << zoom;
  }
}

TEST(View, StaysInsideAndMovesBack) {
  std::mt19937 random(3);
  const Recording recording = random_recording(random, 500, 1);
  View view(recording, Axis::kTime);
  EXPECT_TRUE(view.whole());
  view.zoom(1e12, 0.3);
  EXPECT_EQ(view.to() - view.from(), 1.0);
  view.zoom(1e-12, 0.3);
  EXPECT_TRUE(view.whole());
  view.zoom(4, 0.5);
  const View before = view;
  view.pan(0.25);
  view.pan(-0.25);
  EXPECT_NEAR(view.from(), before.from(), 1e-3);
  view.pan(-100);
  EXPECT_EQ(view.from(), 0);
  view.show(std::nan(""), 1);
  EXPECT_EQ(view.from(), 0);
}

TEST(View, TheAxisIsTheOneThatShowsMost) {
  for (const bool at_once : {false, true}) {
    Recording recording;
    for (std::int64_t i = 0; i < 100; ++i) recording.mark(at_once ? 1'000'000 + i : i * 10'000);
    recording.finish(2'000'000);
    EXPECT_EQ(better_axis(recording), at_once ? Axis::kEvents : Axis::kTime);
  }
}

TEST(ViewHistory, GoesBackAndForward) {
  std::mt19937 random(3);
  const Recording recording = random_recording(random, 500, 1);
  const View whole(recording, Axis::kTime);
  ViewHistory history;
  history.add(whole, 0);
  View view = whole;
  for (const int now : {1000, 1100, 1200, 3000}) {
    view.zoom(2, 0.5);
    history.add(view, now);
  }
  const View* before = history.back();
  ASSERT_NE(before, nullptr);
  EXPECT_NEAR(before->to() - before->from(), (whole.to() - whole.from()) / 8, 1) << "three moves at once are one";
  EXPECT_EQ(*history.back(), whole);
  EXPECT_EQ(history.back(), nullptr);
  ASSERT_NE(history.forward(), nullptr);
  EXPECT_EQ(*history.forward(), view);
  EXPECT_EQ(history.forward(), nullptr);
  history.back();
  history.add(whole, 9000);
  EXPECT_EQ(history.forward(), nullptr) << "what came after is gone";
}

TEST(View, TicksAreRoundAndApart) {
  Recording recording;
  recording.mark(0);
  recording.finish(3'700'000'000);
  std::vector<Tick> ticks;
  View view(recording, Axis::kTime);
  find_ticks(view, 1000, 100, ticks);
  ASSERT_EQ(ticks.size(), 8U);
  EXPECT_EQ(ticks[0].label, "0.0 s");
  EXPECT_EQ(ticks[1].label, "0.5 s");
  view.show(1'200'000'000, 1'200'010'000);
  find_ticks(view, 1000, 100, ticks);
  EXPECT_EQ(ticks[1].label, "1.200001 s");
  view.show(1, 2);
  find_ticks(view, 1000, 100, ticks);
  EXPECT_EQ(ticks.size(), 1U);
}

TEST(RoundBytes, AnAxisHasRoundNumbers) {
  EXPECT_EQ(round_bytes(1), 1);
  EXPECT_EQ(round_bytes(3 << 20), 5 << 20);
  EXPECT_EQ(round_bytes(600 << 20), 1LL << 30);
  EXPECT_EQ(round_bytes(1 << 30), 1LL << 30);
  for (int shift = 0; shift < 63; ++shift) EXPECT_GE(round_bytes(std::int64_t{1} << shift), std::int64_t{1} << shift);
}

TEST(Recording, WithoutEventsHasOneUnit) {
  Recording recording;
  recording.finish(5);
  EXPECT_EQ(recording.units(), 1U);
  const Curve curve(recording);
  EXPECT_EQ(curve.peak(), 0);
  EXPECT_EQ(Lanes(recording, 1).size(), 0U);
}

TEST(Recording, TimesOfSeveralThreadsDoNotGoBack) {
  Recording recording;
  const LifetimeId a = recording.begin(100, 8, 0, 0);
  recording.end(90, a);
  recording.finish(90);
  EXPECT_EQ(recording.ns(1), 100);
  EXPECT_GT(recording.end_ns(), 100);
}

}  // namespace
}  // namespace dcmt::scene
