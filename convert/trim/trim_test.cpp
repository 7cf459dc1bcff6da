#include "convert/trim/trim.h"

#include <gtest/gtest.h>

namespace dcmt::convert {
namespace {

/// Intervals that end at 10, 20, 30 and 40. The third one has sums only.
analyzer::TraceData four_steps() {
  analyzer::TraceData data;
  data.path = "a.dcmt";
  for (std::int64_t i = 0; i < 4; ++i) {
    analyzer::Interval interval;
    interval.step = i + 1;
    interval.steps = 1;
    interval.kept = i == 2 ? Kept::kNo : Kept::kAll;
    interval.span = {Sequence(10 * i), Sequence(10 * i + 10), TimeNs(10 * i), TimeNs(10 * i + 10)};
    data.intervals.push_back(interval);
  }
  return data;
}

TEST(Trim, AWindowIsWholeStretches) {
  const analyzer::TraceData data = four_steps();
  struct Case {
    std::int64_t from, to, after, last, stretches;
  };
  for (const Case& each :
       {Case{1, 40, 0, 40, 4}, Case{11, 20, 10, 20, 1}, Case{10, 10, 0, 10, 1}, Case{10, 11, 0, 20, 2},
        Case{20, 31, 10, 40, 3}, Case{35, 99, 30, 40, 1}, Case{50, 99, 30, 40, 1}, Case{0, 0, 0, 10, 1}}) {
    const auto window = trim_window(data, Sequence(each.from), Sequence(each.to));
    ASSERT_TRUE(window.ok()) << each.from;
    EXPECT_EQ(window->after, Sequence(each.after)) << each.from;
    EXPECT_EQ(window->to, Sequence(each.last)) << each.from;
    EXPECT_EQ(window->stretches, each.stretches) << each.from;
    EXPECT_EQ(window->steps, each.stretches) << each.from;
    EXPECT_EQ(window->of, 4);
  }
}

TEST(Trim, AWindowThatIsNoneIsSaid) {
  const analyzer::TraceData data = four_steps();
  const analyzer::TraceData without;
  for (const auto& window :
       {trim_window(data, Sequence(20), Sequence(10)), trim_window(data, Sequence(21), Sequence(29)),
        trim_window(without, Sequence(1), Sequence(2))}) {
    ASSERT_FALSE(window.ok());
    EXPECT_EQ(window.error().code, ErrorCode::kUsage);
    EXPECT_EQ(window.error().message.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace dcmt::convert
