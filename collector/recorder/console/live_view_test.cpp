#include "collector/recorder/console/live_view.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "trace/base/quantities.h"

namespace dcmt::recorder {
namespace {

MemoryCurve rising(int figures) {
  MemoryCurve curve;
  for (int i = 1; i <= figures; ++i) curve.add(i * kMiB);
  return curve;
}

LiveFacts growing() {
  LiveFacts facts;
  facts.status = "step 8 · 0:02 · 8.0 MiB · peak 8.0 MiB";
  facts.processes = {{"process 7", 8, 8 * kMiB, 8 * kMiB, false}};
  facts.shown = "process 7";
  facts.places = {{6 * kMiB, 6, "app/train.py:17 main"}, {2 * kMiB, 1, "parameters"}};
  facts.peak = 8 * kMiB;
  facts.findings = "Memory grows by 1.0 MiB a step, held by main.losses.";
  return facts;
}

TEST(LiveView, HasCurvePlacesAndFindings) {
  EXPECT_EQ(live_view(growing(), rising(8), {16, 60}),
            "── step 8 · 0:02 · 8.0 MiB · peak 8.0 MiB\n"
            "    8.0 MiB ┤      ▄█\n"
            "            │    ▄███\n"
            "            │  ▄█████\n"
            "          0 ┤▄███████\n"
            "    6.0 MiB app/train.py:17 main   6 blocks\n"
            "    2.0 MiB parameters   1 block\n"
            "so far: Memory grows by 1.0 MiB a step, held by main.losses.");
}

TEST(LiveView, HasARowForEachRankWhileThereIsRoom) {
  LiveFacts facts = growing();
  facts.findings.clear();
  facts.processes = {{"rank 0", 8, 8 * kMiB, 8 * kMiB, false}, {"rank 1", 7, 4 * kMiB, 6 * kMiB, true}};
  facts.shown = "rank 0";
  const std::string two = live_view(facts, rising(8), {24, 80});
  EXPECT_NE(two.find("    8.0 MiB rank 0 · step 8 · peak 8.0 MiB · shown above\n"), std::string::npos) << two;
  EXPECT_NE(two.find("    4.0 MiB rank 1 · step 7 · peak 6.0 MiB · has ended"), std::string::npos) << two;
  for (int i = 2; i < 64; ++i) facts.processes.push_back({"rank " + std::to_string(i), 7, 0, i, false});
  const std::string many = live_view(facts, rising(8), {24, 80});
  EXPECT_NE(many.find("            62 more, each with a peak of 63 B or less"), std::string::npos) << many;
}

/// The program's output is above: rows that came and went would move it.
TEST(LiveView, HasAlwaysTheSameRows) {
  LiveFacts facts;
  facts.status = "step 0";
  const auto rows = [&](ScreenSize screen) { return std::ranges::count(live_view(facts, {}, screen), '\n') + 1; };
  EXPECT_EQ(rows({24, 80}), 12);
  EXPECT_EQ(rows({80, 80}), 16);
  EXPECT_EQ(rows({11, 80}), 1) << "a small screen has the status line";
  EXPECT_EQ(rows({24, 5}), 12);
  facts = growing();
  EXPECT_EQ(rows({24, 80}), 12);
  EXPECT_EQ(rows({24, 5}), 12);
}

TEST(LiveView, NamesThatContainControlCharactersDoNotControlTheTerminal) {
  LiveFacts facts = growing();
  facts.places.front().name = "a\033[2Jb.py:1 main";
  EXPECT_NE(live_view(facts, rising(8), {24, 80}).find("a\\x1b[2Jb.py:1 main"), std::string::npos);
}

}  // namespace
}  // namespace dcmt::recorder
