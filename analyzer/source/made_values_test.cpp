#include "analyzer/source/made_values.h"

#include <gtest/gtest.h>

namespace dcmt::analyzer {
namespace {

constexpr std::string_view kProgram = R"(import torch
def main():
    hidden = net.body[0](
        x)
    out = net(hidden); print(len(text))
    loss = (out - x).mean()
    loss.backward()
    try: risky(hidden)
    except E: pass
    kept[step](hidden.detach(), 1)
    y = stored(hidden)
    later = lambda hidden: put(hidden)
    put.all(
        # hidden
        [(hidden, 2)])
    log(loss); log('hidden')
    return keep(hidden)
def other(): put(hidden)
)";

std::vector<std::size_t> numbers(const std::vector<const PythonSource::Line*>& lines) {
  std::vector<std::size_t> numbers;
  for (const PythonSource::Line* line : lines) numbers.push_back(line->number);
  return numbers;
}
using Numbers = std::vector<std::size_t>;

TEST(MadeValues, ArePassedToCallsOfWhichNothingHasTheResult) {
  const PythonSource source(kProgram);
  const MadeValues values(source, {4});
  EXPECT_EQ(numbers(values.passes(false)), (Numbers{8, 10, 13}));
  const auto& lines = source.lines();
  EXPECT_TRUE(values.makes(lines[2])) << "the statement's first line";
  EXPECT_FALSE(values.makes(lines[4]));
  EXPECT_TRUE(values.names_one(lines[10]));
  EXPECT_TRUE(values.names_one(lines[13])) << "a line of a statement";
  EXPECT_FALSE(values.names_one(lines[17])) << "another function";
  EXPECT_TRUE(values.passes_one(lines[15])) << "what was computed from it";
}

TEST(MadeValues, WhatWasComputedFromThemCountsIfTheyAreNotPassed) {
  const PythonSource source("x = f()\nif x > 1: y = x + 1\nz = y\nlog(z)\nput(w)\nz.log()\n");
  EXPECT_EQ(numbers(MadeValues(source, {1}).passes(false)), (Numbers{4}));
  EXPECT_EQ(numbers(MadeValues(source, {1}).passes(true)), Numbers{});
  EXPECT_EQ(numbers(MadeValues(source, {0, 5, 99}).passes(false)), Numbers{}) << "no variable has them";
}

TEST(MadeValues, WhatIsComputedInTheCallFromWhatWasComputedIsNotPassed) {
  const auto passes = [](const std::string& call) {
    const PythonSource source("x = f()\ny = x + 1\n" + call + "\n");
    return !MadeValues(source, {1}).passes(false).empty();
  };
  for (const char* call : {"log(y)", "log(1, *y)", "log(out=y)", "log({1: [y, 2]})", "log((1,\n     y))"})
    EXPECT_TRUE(passes(call)) << call;
  for (const char* call :
       {"print(y.item())", "print(float(y))", "print(y[0])", "print(a[y])", "print(y + 1)", "print(a.y)"})
    EXPECT_FALSE(passes(call)) << call;
  EXPECT_TRUE(passes("print(x.item())")) << "it may be what that makes";
}

TEST(MadeValues, TheNumberOfARoundIsNoneOfThem) {
  const PythonSource source("for i, x in enumerate(xs):\n  print(i)\n");
  EXPECT_EQ(numbers(MadeValues(source, {1}).passes(false)), Numbers{});
}

TEST(MadeValues, ALoopOverThemGivesItsVariableOne) {
  const PythonSource source("xs = f()\nfor x in xs:\n  put(x)\nfor y in ys:\n  put(y)\n");
  EXPECT_EQ(numbers(MadeValues(source, {1}).passes(false)), (Numbers{3}));
}

TEST(MadeValues, CodeThatIsNoneIsReadToItsEnd) {
  for (const char* code :
       {"x = f(", "x = ((1)\nput(x", "x = 1\n(x)\n[x](x\n.(x)\n", "x = 1\nput(x)(\n", "x =\n\n  \n"}) {
    const PythonSource source(code);
    EXPECT_EQ(numbers(MadeValues(source, {1}).passes(false)), Numbers{}) << code;
  }
}

TEST(MadeValues, NamesAreWholeWordsAndNoAttributes) {
  EXPECT_TRUE(has_name("f(x)", "x"));
  EXPECT_TRUE(has_name("a.x + x", "x"));
  EXPECT_FALSE(has_name("a.x + xx + x1 + _x", "x"));
}

}  // namespace
}  // namespace dcmt::analyzer
