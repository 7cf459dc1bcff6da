#include "collector/python/lines.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <vector>

namespace dcmt::python_provider {
namespace {

constexpr int kFirstLine = 10;

/// A line table in the compiler's format, and the line of each code unit.
struct Function {
  std::vector<unsigned char> table;
  std::vector<int> lines;

  [[nodiscard]] LineTable view(std::uint64_t code) const { return {code, table.data(), table.size(), kFirstLine}; }
  [[nodiscard]] std::int32_t offset(std::size_t unit) const { return static_cast<std::int32_t>(unit * 2); }

  void entry(unsigned kind, unsigned units, int line) {
    table.push_back(static_cast<unsigned char>(0x80u | (kind << 3) | (units - 1)));
    lines.insert(lines.end(), units, line);
  }
  void number(int value) {
    auto rest = static_cast<unsigned>(std::abs(value)) * 2 + (value < 0 ? 1 : 0);
    for (; rest >= 64; rest >>= 6) table.push_back(static_cast<unsigned char>(64u | (rest & 63u)));
    table.push_back(static_cast<unsigned char>(rest));
  }
};

/// Uses every form of an entry, with steps of all sizes in both directions.
Function function_of(std::size_t entries) {
  Function function;
  std::mt19937 random(11);  // NOLINT(cert-msc51-cpp): the same function every time
  int line = kFirstLine;
  for (std::size_t i = 0; i < entries; ++i) {
    const unsigned kind = random() % 16;
    const unsigned units = random() % 8 + 1;
    int step = kind >= 10 && kind <= 12 ? static_cast<int>(kind) - 10 : 0;
    if (kind == 13 || kind == 14) step = static_cast<int>(random() % 3000) - (line > 4000 ? 2000 : 0);
    line += step;
    function.entry(kind, units, kind == 15 ? 0 : line);
    if (kind == 13 || kind == 14) function.number(step);
    const unsigned columns = kind == 15 || kind == 13 ? 0 : kind == 14 ? 3 : kind >= 10 ? 2 : 1;
    for (unsigned c = 0; c < columns; ++c) function.table.push_back(static_cast<unsigned char>(random() % 64));
  }
  return function;
}

/// Entries in one block, and the two that cross its ends.
constexpr std::uint32_t kMostEntries = LineMarks::kBlock / 2 + 2;

TEST(LineMarks, APassThroughALongFunctionReadsOneBlockALine) {
  const Function function = function_of(100'000);
  const auto marks = std::make_unique<LineMarks>();
  for (std::size_t unit = 0; unit < function.lines.size(); ++unit) {
    const auto [line, walked] = marks->line_of(function.view(7), function.offset(unit));
    ASSERT_EQ(line, function.lines[unit]) << unit;
    ASSERT_LE(walked, kMostEntries) << unit;
  }
}

TEST(LineMarks, AfterOneLongWalkEveryLineIsNear) {
  const Function function = function_of(100'000);
  const auto marks = std::make_unique<LineMarks>();
  EXPECT_EQ(marks->line_of(function.view(7), function.offset(function.lines.size() - 1)).walked, 100'000u);
  for (std::size_t unit = function.lines.size(); unit-- > 0;) {
    const auto [line, walked] = marks->line_of(function.view(7), function.offset(unit));
    ASSERT_EQ(line, function.lines[unit]) << unit;
    ASSERT_LE(walked, kMostEntries) << unit;
  }
}

TEST(LineMarks, FunctionsThatSharePlacesKeepTheirLines) {
  const Function one = function_of(60'000);
  const Function two = function_of(90'000);
  const auto marks = std::make_unique<LineMarks>();
  for (std::size_t unit = 0; unit < one.lines.size(); unit += 97) {
    for (std::uint64_t code = 1; code < 40; code += 2) {
      ASSERT_EQ(marks->line_of(one.view(code), one.offset(unit)).line, one.lines[unit]);
      ASSERT_EQ(marks->line_of(two.view(code + 1), two.offset(unit)).line, two.lines[unit]);
    }
    if (unit > 20'000) break;
  }
}

TEST(LineMarks, WhatHasNoLineHasNone) {
  const Function function = function_of(50);
  const auto marks = std::make_unique<LineMarks>();
  EXPECT_EQ(marks->line_of(function.view(3), -2).line, kFirstLine);
  EXPECT_EQ(marks->line_of(function.view(3), function.offset(function.lines.size())).line, 0);
  EXPECT_EQ(marks->line_of({3, nullptr, 0, kFirstLine}, 0).line, 0);
  const unsigned char cut[] = {0x80u | (14u << 3)};
  EXPECT_EQ(marks->line_of({4, cut, 1, kFirstLine}, 0).line, kFirstLine);
}

}  // namespace
}  // namespace dcmt::python_provider
