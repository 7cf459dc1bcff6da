#include "collector/recorder/process/object_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace dcmt::recorder {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr auto kVariables = scan::Scope::kVariables, kAll = scan::Scope::kAll;

/// A recorder whose readings of variables take 10 ms, and those of everything half a second.
struct Recorder {
  ObjectSchedule schedule;
  std::vector<double> variables, all;
  double importing_until = 0, import_costs = 0.001;
  std::int64_t explained = 0;  ///< bytes of the collection that readings of variables find

  void run(double until, const std::function<std::int64_t(double)>& outside) {
    for (double now = 0; now < until; now += 0.01) {
      schedule.see(outside(now));
      for (const scan::Scope scope : {kVariables, kAll}) {
        if (!schedule.is_due(scope, now)) continue;
        (scope == kAll ? all : variables).push_back(now);
        schedule.begin(scope);
        scan::Census found;
        found.importing = scope == kVariables && now < importing_until;
        if (!found.importing) found.collections.emplace_back().path = "main: rows";
        if (!found.importing) found.collections[0].bytes = static_cast<std::uint64_t>(explained);
        schedule.done(scope, now, scope == kAll ? 0.5 : found.importing ? import_costs : 0.01, found);
      }
    }
  }
};

TEST(ObjectSchedule, ReadingsAreSpreadOverTheGrowth) {
  Recorder recorder;
  recorder.run(3, [&](double now) {
    recorder.explained = static_cast<std::int64_t>(now * 4 * kMiB);
    return 300 * kMiB + recorder.explained;
  });
  ASSERT_GE(recorder.variables.size(), 5u);
  EXPECT_GE(recorder.variables.back(), 0.75 * 3);
  EXPECT_TRUE(recorder.all.empty()) << "the collection explains it";
  EXPECT_TRUE(recorder.schedule.wants_last(kVariables));
  EXPECT_FALSE(recorder.schedule.wants_last(kAll));
}

TEST(ObjectSchedule, AStillProgramIsReadSeldom) {
  Recorder recorder;
  recorder.run(1000, [](double) { return 300 * kMiB; });
  EXPECT_LT(recorder.variables.size(), 30u);
  EXPECT_GT(recorder.variables.size(), 10u);
  EXPECT_TRUE(recorder.all.empty());
  EXPECT_FALSE(recorder.schedule.wants_last(kVariables));
}

TEST(ObjectSchedule, WhatVariablesDoNotExplainIsLookedForEverywhere) {
  const auto grows = [](double now) { return 300 * kMiB + static_cast<std::int64_t>(now * 4 * kMiB); };
  Recorder shortly, long_enough;
  shortly.run(60, grows);
  EXPECT_TRUE(shortly.all.empty()) << "nothing follows from one or two of them";
  long_enough.run(600, grows);
  EXPECT_GE(long_enough.all.size(), 4u);
  EXPECT_LE(static_cast<double>(long_enough.all.size()) * 0.5, 0.004 * 600);
  EXPECT_LT(long_enough.all.front(), 0.4 * 600) << "the growth since then is most of it";
}

TEST(ObjectSchedule, AProgramWaitsForALastReadingOnlyIfItCanDecide) {
  const auto grows = [](double now) { return 300 * kMiB + static_cast<std::int64_t>(now * 4 * kMiB); };
  Recorder shortly, long_enough;
  shortly.run(10, grows);
  EXPECT_FALSE(shortly.schedule.wants_last(kAll));
  long_enough.run(2000, grows);
  ASSERT_GE(long_enough.all.size(), 4u);
  EXPECT_TRUE(long_enough.schedule.wants_last(kAll));
}

TEST(ObjectSchedule, ImportsAreNoGrowth) {
  Recorder recorder;
  recorder.importing_until = 5;
  recorder.run(8, [&](double now) {
    recorder.explained = now < 5 ? 0 : static_cast<std::int64_t>((now - 5) * 3 * kMiB);
    return 300 * kMiB + static_cast<std::int64_t>(std::min(now, 5.0) * 20 * kMiB) + recorder.explained;
  });
  EXPECT_TRUE(recorder.all.empty());
  EXPECT_GE(std::ranges::count_if(recorder.variables, [](double at) { return at > 5; }), 5);
}

TEST(ObjectSchedule, LongImportsLeaveReadingsForWhatComesAfterThem) {
  Recorder recorder;
  recorder.importing_until = 10;
  recorder.import_costs = 0.05;  // of a busy machine
  recorder.run(15, [&](double now) {
    recorder.explained = now < 10 ? 0 : static_cast<std::int64_t>((now - 10) * 3 * kMiB);
    return 300 * kMiB + static_cast<std::int64_t>(std::min(now, 10.0) * 20 * kMiB) + recorder.explained;
  });
  EXPECT_GE(std::ranges::count_if(recorder.variables, [](double at) { return at > 10; }), 2);
}

TEST(ObjectSchedule, ReadingsStayWithinTheirShare) {
  Recorder recorder;
  recorder.run(600, [](double now) { return static_cast<std::int64_t>(std::exp(now / 20) * 300 * kMiB); });
  EXPECT_LE(static_cast<double>(recorder.variables.size()) * 0.01, 0.3 + 0.0025 * 600 + 0.01);
}

}  // namespace
}  // namespace dcmt::recorder
