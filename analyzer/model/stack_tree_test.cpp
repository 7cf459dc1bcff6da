#include "analyzer/model/stack_tree.h"

#include <gtest/gtest.h>

#include "analyzer/model/analysis.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::model {
namespace {

TEST(StackTree, AddsUpFromTheOutermostFrame) {
  testing::TestTrace trace;
  trace.stack = {{"/home/user/model.py", "forward", 7}, {"/home/user/train.py", "main", 3}};
  trace.allocate(100);
  trace.allocate(50);
  trace.stack = {{"/home/user/model.py", "norm", 9}, {"/home/user/train.py", "main", 3}};
  trace.allocate(1000);
  trace.stack = {};
  trace.allocate(5);
  const analyzer::TraceData data = trace.load();
  const analyzer::Analysis analysis = analyzer::analyze(data);
  const auto& measured = analysis.main().what_if.measured;
  const StackTree tree = stack_tree_of(LiveSet(&data, &analysis.phases, measured.device, measured.seq));
  EXPECT_EQ(tree.bytes, Bytes(1155));
  EXPECT_EQ(tree.blocks, 4);
  ASSERT_EQ(tree.inner.size(), 2U);
  EXPECT_EQ(tree.inner[0].name, "user/train.py:3 main");
  EXPECT_EQ(tree.inner[0].bytes, Bytes(1150));
  ASSERT_EQ(tree.inner[0].inner.size(), 2U);
  EXPECT_EQ(tree.inner[0].inner[0].name, "user/model.py:9 norm");
  EXPECT_EQ(tree.inner[0].inner[1].bytes, Bytes(150));
  EXPECT_EQ(tree.inner[0].inner[1].blocks, 2);
  EXPECT_EQ(tree.inner[1].name, "(no Python frame)");
}

TEST(StackTree, WhatOnlyLibrariesAllocateHasItsSite) {
  testing::TestTrace trace;
  trace.stack = {{"/usr/lib/python3.11/pickle.py", "load", 7}, {"<string>", "run", 1}};
  trace.allocate(100);
  const analyzer::TraceData data = trace.load();
  const analyzer::Analysis analysis = analyzer::analyze(data);
  const auto& measured = analysis.main().what_if.measured;
  const StackTree tree = stack_tree_of(LiveSet(&data, &analysis.phases, measured.device, measured.seq));
  ASSERT_EQ(tree.inner.size(), 1U);
  EXPECT_EQ(tree.inner[0].name, "python3.11/pickle.py:7 load");
}

}  // namespace
}  // namespace dcmt::model
