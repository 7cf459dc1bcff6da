#include "analyzer/compare/graph_difference.h"

#include <gtest/gtest.h>

#include <string>

#include "analyzer/model/analysis.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::TestTrace;

/// The graph at the peak of a trace that `fill` writes.
template <class Fill>
GraphFacts graph_of(Fill fill) {
  TestTrace trace;
  fill(trace);
  const TraceData data = trace.load();
  const Analysis analysis = analyze(data);
  return Graphs(data).at(analysis.main().device, analysis.main().what_if.measured.seq);
}

void saved(TestTrace& trace, std::int64_t line, std::int64_t bytes, const std::string& field) {
  trace.stack = {{"/repo/model.py", "forward", line}};
  const auto handle = trace.allocate(bytes);
  trace.held(handle, {.path = "main: losses[0].grad_fn " + field, .role = std::string(kSavedForBackward)});
}

void parameter(TestTrace& trace) {
  trace.stack = {{"/repo/model.py", "__init__", 3}};
  trace.held(trace.allocate(1000), {.path = "main: model.weight", .otherwise = true, .role = "parameter"});
}

TEST(GraphDifference, FieldsThatWentAndThoseThatAreKept) {
  const GraphFacts before = graph_of([](TestTrace& trace) {
    parameter(trace);
    saved(trace, 10, 100, "AddmmBackward0._saved_mat1");
    saved(trace, 11, 40, "SigmoidBackward0._saved_result");
  });
  EXPECT_EQ(before.bytes, Bytes(140));
  const GraphFacts after = graph_of([](TestTrace& trace) {
    parameter(trace);
    saved(trace, 10, 100, "AddmmBackward0._saved_mat1");
  });
  const GraphDifference difference = graph_difference(before, after);
  EXPECT_TRUE(difference.compared);
  EXPECT_EQ(difference.before, Bytes(140));
  EXPECT_EQ(difference.after, Bytes(100));
  EXPECT_EQ(difference.kept_fields, 1);
  EXPECT_EQ(difference.kept, Bytes(100));
  ASSERT_EQ(difference.fields.size(), 1u);
  EXPECT_EQ(difference.fields[0].became, ChangeKind::kWent);
  EXPECT_EQ(difference.fields[0].node + "." + difference.fields[0].field, "SigmoidBackward0.result");
  EXPECT_TRUE(difference.fields[0].certain);
}

TEST(GraphDifference, AReadingThatMissedAsMuchProvesNothing) {
  const GraphFacts before = graph_of([](TestTrace& trace) {
    parameter(trace);
    saved(trace, 10, 100, "AddmmBackward0._saved_mat1");
  });
  const GraphFacts after = graph_of([](TestTrace& trace) {
    parameter(trace);
    trace.stack = {{"/repo/model.py", "forward", 10}};
    trace.allocate(100);
  });
  EXPECT_EQ(after.not_known, Bytes(100));
  const GraphDifference difference = graph_difference(before, after);
  ASSERT_EQ(difference.fields.size(), 1u);
  EXPECT_FALSE(difference.fields[0].certain);
}

TEST(GraphDifference, StoragesThatNoReadingMetAreAsOthersOfTheirKind) {
  const GraphFacts facts = graph_of([](TestTrace& trace) {
    parameter(trace);
    saved(trace, 10, 100, "AddmmBackward0._saved_mat1");
    trace.allocate(100);
  });
  ASSERT_EQ(facts.fields.size(), 1u);
  EXPECT_EQ(facts.fields[0].storages, 2);
  EXPECT_EQ(facts.fields[0].bytes, Bytes(200));
}

TEST(GraphDifference, WithoutAReadingNothingIsCompared) {
  const GraphFacts read = graph_of([](TestTrace& trace) { saved(trace, 10, 100, "AddmmBackward0._saved_mat1"); });
  const GraphFacts unread = graph_of([](TestTrace& trace) { trace.allocate(100); });
  EXPECT_FALSE(graph_difference(read, unread).compared);
  EXPECT_FALSE(graph_difference(unread, read).compared);
}

}  // namespace
}  // namespace dcmt::analyzer
