#include "analyzer/ranks/rank_summary.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "analyzer/ranks/rank_comparison.h"
#include "analyzer/testing/test_trace.h"
#include "trace/base/quantities.h"

namespace dcmt::analyzer {
namespace {

using testing::HeldOf;
using testing::TestTrace;

/// Gathers, a name for which no text is UTF-8, and a list that grows if it should.
RankSummary summary_of(std::int64_t rank, bool grows) {
  TestTrace trace;
  std::vector<TestTrace::Handle> outputs;
  trace.meta_integers["rank"] = rank;
  trace.meta_integers["world_size"] = 3;
  for (std::int64_t step = 1; step <= 6; ++step) {
    for (const std::int64_t key : {7, 3}) {
      trace.stack = {{"/home/user/model.py", "forward\xff", 20 + key}};
      TestTrace::Handle buffer = 0;
      trace.op("zero3::allgather_param", [&] { trace.gather(key, buffer = trace.allocate(1000)); });
      trace.release(key, buffer, {}, [&] { trace.resize_to_zero(buffer); });
    }
    trace.stack = {{"/home/user/train.py", "main", 9}};
    outputs.push_back(trace.allocate(2 * kMiB));
    trace.begin_reading();
    for (const TestTrace::Handle each : outputs) {
      if (grows) trace.held(each, {.containers = {"main: log"}, .path = "main: log[0]"});
    }
    if (!grows) trace.drop(outputs.back());
    if (!grows) outputs.clear();
    trace.step(step);
  }
  const TraceData data = trace.load();
  return rank_summary(analyze(data));
}

TEST(RankSummaryTest, ComesBackFromItsText) {
  for (const bool grows : {false, true}) {
    const RankSummary summary = summary_of(1, grows);
    EXPECT_EQ(summary.found, grows);
    EXPECT_EQ(summary.facts.findings.empty(), !grows);
    EXPECT_EQ(summary.facts.gathers(), 12);
    const std::string text = text_of(summary, "a state");
    const std::optional<RankSummary> read = summary_in(text, "a state");
    ASSERT_TRUE(read);
    EXPECT_EQ(text_of(*read, "a state"), text);
    EXPECT_EQ(read->facts.memory.places.size(), summary.facts.memory.places.size());
    EXPECT_EQ(read->events.times, summary.events.times);
  }
}

TEST(RankSummaryTest, IsComparedAsTheTraceIs) {
  std::vector<RankFacts> traces, texts;
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    const RankSummary summary = summary_of(rank, rank == 2);
    texts.push_back(summary_in(text_of(summary, ""), "")->facts);
    traces.push_back(summary.facts);
  }
  const Expected<RankComparison> of_traces = compare_ranks(traces);
  const Expected<RankComparison> of_texts = compare_ranks(texts);
  ASSERT_TRUE(of_traces.ok() && of_texts.ok());
  ASSERT_TRUE(of_texts->memory && of_traces->memory);
  EXPECT_EQ(of_texts->memory->places.front().site, "user/train.py:9 main");
  EXPECT_EQ(of_texts->memory->places.front().holder, of_traces->memory->places.front().holder);
  ASSERT_EQ(of_texts->findings.size(), 1U);
  EXPECT_EQ(of_texts->findings.front().place, "user/train.py:9 main");
  EXPECT_EQ(of_texts->findings.front().with.front().bytes, of_traces->findings.front().with.front().bytes);
  EXPECT_EQ(of_texts->steps, of_traces->steps);
}

TEST(RankSummaryTest, NothingElseIsReadAsOne) {
  const std::string text = text_of(summary_of(0, true), "a state");
  EXPECT_FALSE(summary_in(text, "another state"));
  EXPECT_FALSE(summary_in("", ""));
  EXPECT_FALSE(summary_in("[\"\",[]]", ""));
  for (std::size_t bytes = 0; bytes < text.size(); bytes += 7)
    EXPECT_FALSE(summary_in(text.substr(0, bytes), "a state"));
  // Whatever a byte is changed to, what is read can be compared.
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = damaged[at] == '9' ? '1' : '9';
    std::optional<RankSummary> read = summary_in(damaged, "a state");
    if (!read) continue;
    RankFacts other = read->facts;
    other.rank = read->facts.rank + 1;
    static_cast<void>(compare_ranks({read->facts, other}).ok());
  }
}

TEST(RankSummaryTest, IsBounded) {
  RankSummary summary = summary_of(0, false);
  constexpr std::int64_t kSteps = 100'000;
  const RankStep step = summary.facts.steps.front();
  summary.facts.steps.assign(kSteps, step);
  for (std::int64_t i = 0; i < kSteps; ++i) {
    summary.facts.steps[static_cast<std::size_t>(i)].number = i;
    summary.events.times[{i, ""}] = {TimeNs(i)};
  }
  summary.events.times[{std::numeric_limits<std::int64_t>::max(), "c10d::allreduce_"}] = {TimeNs(kSteps)};
  bound(summary);
  EXPECT_EQ(summary.facts.steps.back().number, kSteps - 1);
  EXPECT_EQ(summary.facts.steps.size(), 4096U);  // two gathers each
  EXPECT_EQ(summary.facts.steps_left_out, kSteps - 4096);
  EXPECT_LE(summary.events.times.size(), 513U);
  EXPECT_TRUE(summary.events.times.contains({256, ""}));
  EXPECT_LT(text_of(summary, "").size(), std::size_t{1} << 20);
}

}  // namespace
}  // namespace dcmt::analyzer
