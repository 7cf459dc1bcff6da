#include "analyzer/model/saved_view.h"

#include <gtest/gtest.h>

#include <string>

#include "analyzer/testing/test_trace.h"

namespace dcmt::model {
namespace {

using testing::TestTrace;

TestTrace::Handle held(TestTrace& trace, std::int64_t bytes, const std::string& path) {
  const auto handle = trace.allocate(bytes);
  trace.held(handle, {.path = path, .otherwise = true});
  return handle;
}

TEST(SavedView, NodesFieldsAndBytesOfWhatWasAlive) {
  TestTrace trace;
  held(trace, 100, "main: losses[3].grad_fn NllLossBackward0 … 2 nodes → AddmmBackward0._saved_mat1");
  held(trace, 200, "main: losses[4].grad_fn NllLossBackward0 … 2 nodes → AddmmBackward0._saved_mat1");
  held(trace, 40, "main: v.grad_fn ScaleBackward.saved_tensors[0]");
  held(trace, 7, "cycle Kept.x → SigmoidBackward0._saved_result (packed by hook) → Kept (through autograd nodes)");
  held(trace, 1000, "main: model.weight");
  const auto gone = held(trace, 5000, "main: v.grad_fn MulBackward0._saved_self");
  trace.allocate(2);
  trace.drop(gone);
  const TraceData data = trace.load();
  const auto view = saved_view("t.dcmt", analyzer::analyze(data), "end");
  ASSERT_TRUE(view.ok()) << view.error().message;
  EXPECT_EQ(view->bytes, Bytes(347));
  EXPECT_EQ(view->storages, 4);
  ASSERT_EQ(view->fields.size(), 3u);
  EXPECT_EQ(view->fields[0].node + "." + view->fields[0].field, "AddmmBackward0.mat1");
  EXPECT_EQ(view->fields[0].bytes, Bytes(300));
  EXPECT_EQ(view->fields[0].storages, 2);
  EXPECT_EQ(view->fields[0].holders, std::vector<std::string>{"main: losses[*]"});
  EXPECT_EQ(view->fields[0].elsewhere, Bytes(0));
  EXPECT_EQ(view->fields[1].node + "." + view->fields[1].field, "ScaleBackward.saved_tensors");
  EXPECT_EQ(view->fields[1].holders, std::vector<std::string>{"main: v"});
  EXPECT_EQ(view->fields[2].node + "." + view->fields[2].field, "SigmoidBackward0.result");
  const auto at_peak = saved_view("t.dcmt", analyzer::analyze(data), "peak");
  ASSERT_TRUE(at_peak.ok());
  EXPECT_EQ(at_peak->bytes, Bytes(5347));
  EXPECT_FALSE(saved_view("t.dcmt", analyzer::analyze(data), "nowhere").ok());
}

}  // namespace
}  // namespace dcmt::model
