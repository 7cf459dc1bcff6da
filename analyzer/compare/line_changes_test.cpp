#include "analyzer/compare/line_changes.h"

#include <gtest/gtest.h>

namespace dcmt::analyzer {
namespace {

AllocationLine line(const std::string& function, std::int64_t number, std::int64_t bytes) {
  AllocationLine line;
  line.function = function;
  line.file = "/repo/" + function.substr(0, function.find(' '));
  line.line = number;
  line.blocks = 1;
  line.bytes = Bytes(bytes);
  return line;
}

TEST(LineChanges, ALineThatIsAddedBetweenOthersIsFound) {
  const std::vector<LineChange> changes =
      line_changes({{"m.py f", {100, 200, 300}}},
                   {line("m.py f", 11, 100), line("m.py f", 12, 50), line("m.py f", 13, 200), line("m.py f", 14, 300)});
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].line.line, 12);
  EXPECT_EQ(changes[0].change, 50);
  EXPECT_EQ(changes[0].before.value, 0);
}

TEST(LineChanges, ALineThatHasMoreIsTheSameLine) {
  const std::vector<LineChange> changes =
      line_changes({{"m.py f", {100, 200}}}, {line("m.py f", 11, 100), line("m.py f", 12, 260)});
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].line.line, 12);
  EXPECT_EQ(changes[0].change, 60);
}

TEST(LineChanges, MovedLinesAndRenamedFunctionsAndFilesAreNoChange) {
  const Composition before{{"m.py f", {100, 200}}, {"m.py g", {300}}, {"a.py step", {70}}};
  EXPECT_TRUE(line_changes(before, {line("m.py f", 411, 100), line("m.py f", 412, 200), line("m.py renamed", 9, 300),
                                    line("b.py step", 5, 70)})
                  .empty());
}

TEST(LineChanges, ARenamedFunctionWithANewLineIsTheOneThatItIsMostLike) {
  const std::vector<LineChange> changes =
      line_changes({{"m.py f", {100, 200}}, {"m.py g", {300, 400}}},
                   {line("m.py f2", 1, 100), line("m.py f2", 2, 200), line("m.py g2", 3, 300), line("m.py g2", 4, 5),
                    line("m.py g2", 6, 400)});
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].line.line, 4);
}

TEST(LineChanges, LinesThatMovedIntoANewFunctionOrOutOfOneThatIsGoneAreNoChange) {
  EXPECT_TRUE(line_changes({{"m.py step", {100, 200, 300}}},
                           {line("m.py step", 11, 200), line("m.py step", 12, 300), line("m.py loss", 20, 100)})
                  .empty());
  EXPECT_TRUE(line_changes({{"m.py step", {200}}, {"m.py loss", {100}}},
                           {line("m.py step", 11, 100), line("m.py step", 12, 200)})
                  .empty());
  const std::vector<LineChange> changes = line_changes(
      {{"m.py step", {100, 200, 300}}},
      {line("m.py step", 11, 60), line("m.py step", 12, 200), line("m.py step", 13, 300), line("m.py loss", 20, 100)});
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].line.line, 11);
}

TEST(LineChanges, AmongLinesThatBothStayedNothingHasMoved) {
  const std::vector<LineChange> changes =
      line_changes({{"m.py f", {100, 500}}, {"m.py g", {40}}},
                   {line("m.py f", 1, 500), line("m.py g", 2, 40), line("m.py g", 3, 100)});
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].line.line, 3);
  EXPECT_EQ(changes[1].change, -100);
}

TEST(LineChanges, OfTwoWaysToExplainTheOneThatChangesLessIsChosen) {
  // The equal numbers alone would make line 2 a new one, and 500 gone.
  const std::vector<LineChange> changes = line_changes(
      {{"m.py f", {500, 1000, 3000}}}, {line("m.py f", 1, 1000), line("m.py f", 2, 1000), line("m.py f", 3, 3000)});
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].line.line, 1);
  EXPECT_EQ(changes[0].change, 500);
  // As many bytes either way: the number that is nearly the same is the same line.
  const std::vector<LineChange> close =
      line_changes({{"m.py f", {100}}}, {line("m.py f", 1, 300), line("m.py f", 2, 110)});
  ASSERT_EQ(close.size(), 2u);
  EXPECT_EQ(close[0].line.line, 1);
  EXPECT_EQ(close[0].change, 300);
}

TEST(LineChanges, WhichOfEqualNeighboursIsNewIsSaidByAnotherPeak) {
  const std::vector<AllocationLine> equal{line("m.py f", 1, 100), line("m.py f", 2, 100), line("m.py f", 3, 700)};
  const Composition before{{"m.py f", {100, 700}}};
  for (const std::int64_t fresh : {1, 2}) {
    std::vector<std::vector<LineChange>> facts{
        line_changes(before, equal),
        line_changes({{"m.py f", {30}}}, {line("m.py f", fresh, 100), line("m.py f", 3 - fresh, 30)})};
    ASSERT_EQ(facts[0].size(), 1u);
    EXPECT_EQ(facts[0][0].or_lines.size(), 1u);
    settle_by_others(facts);
    EXPECT_EQ(facts[0][0].line.line, fresh);
    EXPECT_EQ(facts[0][0].change, 100);
  }
}

TEST(LineChanges, WhatIsGoneComesLast) {
  const std::vector<LineChange> changes = line_changes({{"m.py f", {100}}, {"n.py h", {80}}}, {line("m.py f", 1, 130)});
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].change, 30);
  EXPECT_EQ(changes[1].change, -80);
  EXPECT_EQ(changes[1].line.function, "n.py h");
}

TEST(LineChanges, ShortCompositionsKeepWhatIsWorthReviewing) {
  std::vector<AllocationLine> lines{line("m.py f", 1, 1'000'000), line("m.py f", 2, 900), line("m.py f", 3, 5'000)};
  EXPECT_EQ(short_composition_of(lines), (Composition{{"m.py f", {1'000'000, 5'000}}, {"rest", {900}}}));
  for (int i = 0; i < 40; ++i) lines.push_back(line("n.py g", i, 20'000 + i));
  const Composition many = short_composition_of(lines);
  EXPECT_EQ(many.at("m.py f").size() + many.at("n.py g").size(), 32u);
}

TEST(LineChanges, OfAShortCompositionSmallLinesAreTheRest) {
  const Composition before{{"m.py f", {10'000}}, {"rest", {30}}};
  EXPECT_TRUE(line_changes(before, {line("m.py f", 1, 10'000), line("m.py g", 2, 10), line("m.py g", 3, 20)}).empty());
  const std::vector<LineChange> changes = line_changes(before, {line("m.py f", 1, 10'000), line("m.py g", 2, 10)});
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].change, -20);
}

TEST(LineChanges, ANewLineSmallerThanAllThatAreNamedIsNamed) {
  const std::vector<LineChange> changes = line_changes(
      {{"m.py f", {10'000}}, {"rest", {30}}}, {line("m.py f", 1, 10'000), line("m.py f", 2, 100), line("rest", 0, 20)});
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].line.line, 2);
  EXPECT_EQ(changes[0].change, 100);
}

TEST(LineChanges, OfNothingEveryLineIsNew) {
  EXPECT_EQ(line_changes({}, {line("m.py f", 1, 5)}).size(), 1u);
  EXPECT_TRUE(line_changes({}, {}).empty());
  EXPECT_TRUE(line_changes({{"rest", {7}}}, {line("rest", 0, 7)}).empty());
}

}  // namespace
}  // namespace dcmt::analyzer
