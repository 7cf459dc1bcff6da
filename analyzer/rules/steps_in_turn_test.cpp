#include "analyzer/rules/steps_in_turn.h"

#include <gtest/gtest.h>

#include <functional>

#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

/// Steps of optimizers that are called at the lines `line_of`.
std::optional<Remark> remark_of(int steps, const std::function<std::int64_t(int)>& line_of) {
  TestTrace trace;
  for (int step = 0; step < steps; ++step) {
    trace.stack = {{"gan.py", "main", 10}};
    trace.drop(trace.allocate(100));
    trace.phase("optimizer", [&] {
      trace.stack = {{"/usr/lib/python3/site-packages/torch/optim/adam.py", "step", 200},
                     {"gan.py", "main", line_of(step)}};
      trace.drop(trace.allocate(100));
    });
    trace.step(step);
  }
  return steps_in_turn(trace.load());
}

TEST(StepsInTurn, AreOfTheLinesThatCallTheOptimizers) {
  const std::optional<Remark> remark = remark_of(20, [](int step) { return 20 + step % 2; });
  ASSERT_TRUE(remark);
  EXPECT_EQ(remark->place, "gan.py:20 main, gan.py:21 main");
  EXPECT_NE(remark->text().find("dc_memtrace.step()"), std::string::npos);
  EXPECT_TRUE(remark_of(24, [](int step) { return step % 6 == 5 ? 21 : 20; })) << "five steps of the critic";
}

TEST(StepsInTurn, AreNoneOfOneOptimizer) {
  EXPECT_FALSE(remark_of(20, [](int) { return 20; }));
  EXPECT_FALSE(remark_of(20, [](int step) { return step < 10 ? 20 : 21; })) << "one phase after another";
  EXPECT_FALSE(remark_of(4, [](int step) { return 20 + step % 2; })) << "too few";
}

}  // namespace
}  // namespace dcmt::analyzer
