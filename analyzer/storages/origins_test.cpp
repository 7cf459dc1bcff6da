#include "analyzer/storages/origins.h"

#include <gtest/gtest.h>

#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/storages/parameters.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

using testing::StackOf;
using testing::TestTrace;

constexpr char kTable[] =
    "hook\t\tlib/hooks.py\t\t\nuser context\t\tlib/shards.py\tContext.*\t\ncompiled\tzero3::*\t\t\t\n"
    "profiling\t\tlib/profiler.py\t\ttrial\n";

std::string origin_of_gather(const StackOf& stack, const std::string& gatherer) {
  TestTrace trace;
  trace.meta_texts["origins"] = kTable;
  trace.stack = stack;
  trace.gather(0, trace.allocate(100'000), gatherer);
  const TraceData data = trace.load();
  for (const Mark& mark : data.marks) {
    if (mark.kind == MarkKind::kGather) return Origins(data).of(mark);
  }
  return "no gather";
}

TEST(Origins, TheInnermostKnownFrameSaysThenTheOperatorThenItsName) {
  const StackOf hook = {{"/site-packages/lib/shards.py", "gather", 1}, {"/site-packages/lib/hooks.py", "pre", 2}};
  const StackOf context = {{"/x/lib/shards.py", "Context.enter", 1}, {"/x/lib/hooks.py", "pre", 2}};
  EXPECT_EQ(origin_of_gather(hook, "gather"), "hook");
  EXPECT_EQ(origin_of_gather(context, "gather"), "user context");
  EXPECT_EQ(origin_of_gather(hook, "zero3::allgather_param"), "hook");
  EXPECT_EQ(origin_of_gather({{"/x/train.py", "main", 1}}, "zero3::allgather_param"), "compiled");
  EXPECT_EQ(origin_of_gather({{"/x/mylib/hooks.py", "pre", 1}}, "gather"), "gather");  // another file's end
}

TEST(Origins, FindingsOfDifferentOriginsAreApart) {
  TestTrace trace;
  trace.meta_texts["origins"] = kTable;
  std::int64_t key = 0;
  for (const char* file : {"/x/lib/hooks.py", "/x/train.py"}) {
    trace.stack = {{file, "pre", 2}};
    const auto buffer = trace.allocate(100'000);
    trace.gather(key, buffer, "zero3::allgather_param");
    trace.stack = {};
    trace.release(key++, buffer);
  }
  trace.op("aten::add");
  const TraceData data = trace.load();
  std::vector<std::vector<std::string>> origins;
  for (const Finding& finding : analyze(data).findings) origins.push_back(finding.origins);
  EXPECT_EQ(origins, (std::vector<std::vector<std::string>>{{"hook"}, {"compiled"}}));
}

using OriginsAndAsides = std::vector<std::pair<std::string, bool>>;

/// The origin of each finding, and whether it is reported last. The peak comes after all of them.
OriginsAndAsides origins_and_asides(TestTrace& trace) {
  trace.allocate(1'000'000);
  const TraceData data = trace.load();
  OriginsAndAsides findings;
  for (const Finding& finding : analyze(data).findings) findings.emplace_back(finding.origins.front(), finding.aside());
  return findings;
}

TEST(Origins, FindingsOfATrialComeLast) {
  TestTrace trace;
  trace.meta_texts["origins"] = kTable;
  std::int64_t key = 0;
  for (const char* file : {"/x/lib/profiler.py", "/x/lib/hooks.py"}) {
    trace.stack = {{file, "run", 2}};
    const auto buffer = trace.allocate(100'000 / (key + 1));
    trace.gather(key, buffer);
    trace.stack = {};
    trace.release(key++, buffer);
    trace.op("aten::add");
    trace.drop(buffer);
  }
  EXPECT_EQ(origins_and_asides(trace), (OriginsAndAsides{{"hook", false}, {"profiling", true}}));
}

TEST(Origins, WhatTheTrainingReadsIsNoTrial) {
  TestTrace trace;
  trace.meta_texts["origins"] = kTable;
  for (const char* reader : {"/x/lib/profiler.py", "/x/train.py"}) {
    trace.stack = {{"/x/lib/profiler.py", "run", 2}};
    const auto buffer = trace.allocate(100'000);
    trace.gather(6, buffer);
    const auto release = trace.release(6, buffer);
    trace.stack = {{reader, "run", 3}};
    trace.op("aten::mm", [&] { trace.read(release, 6, buffer, "aten::mm"); });
    trace.drop(buffer);
  }
  EXPECT_EQ(origins_and_asides(trace), (OriginsAndAsides{{"profiling", false}, {"profiling", true}}));
}

TEST(Parameters, HaveTheNamesOfTheirMechanism) {
  TestTrace trace;
  trace.allocate(1);
  trace.parameters = {{-2, 0, "head.weight", "FSDP2"}, {-1, 7, "", "ZeRO-3"}};
  const TraceData data = trace.load();
  EXPECT_EQ(describe_key(data, {-2, 0}), "head.weight (FSDP2)");
  EXPECT_EQ(describe_key(data, {-1, 7}), "ZeRO-3 id 7");
  EXPECT_EQ(describe_key(data, {0, 7}), "graph 0 id 7");
  EXPECT_EQ(describe_graph(data, -2), "FSDP2");
}

}  // namespace
}  // namespace dcmt::analyzer
