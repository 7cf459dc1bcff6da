#include "analyzer/model/holders_view.h"

#include <gtest/gtest.h>

#include "analyzer/testing/test_trace.h"

namespace dcmt::model {
namespace {

using testing::TestTrace;
using Handle = TestTrace::Handle;

/// Ten steps, each of which keeps 100 bytes in a list; the memory was read after the seventh.
struct ProgramTrace {
  TestTrace trace;
  std::vector<Handle> kept;

  ProgramTrace() {
    for (int i = 0; i < 10; ++i) {
      trace.stack = {{"lib/train.py", "forward", 21}, {"train.py", "main", 32}};
      kept.push_back(trace.allocate(100));
      if (i < 7) {
        const std::string path = "main: probe.seen[" + std::to_string(i) + "]";
        trace.held(kept.back(), {.containers = {"main: probe.seen"}, .path = path});
      }
      trace.step(i);
    }
    trace.stack = {{"train.py", "main", 40}};
    kept.push_back(trace.allocate(7));
  }
};

TEST(HoldersView, OfAFindingPathsAreOneAndWhatWasMadeLaterIsSaid) {
  ProgramTrace program;
  const TraceData data = program.trace.load();
  const analyzer::Analysis analysis = analyzer::analyze(data);
  ASSERT_EQ(analysis.findings.size(), 1u);
  const auto view = holders_view("t.dcmt", analysis, "1");
  ASSERT_TRUE(view.ok()) << view.error().message;
  EXPECT_EQ(view->of, "finding 1");
  EXPECT_EQ(view->storages, 10);
  EXPECT_EQ(view->bytes, Bytes(1000));
  EXPECT_EQ(view->readings, 1);
  ASSERT_EQ(view->containers.size(), 1u);
  EXPECT_EQ(view->containers[0].path, "main: probe.seen");
  EXPECT_EQ(view->containers[0].storages, 7);
  EXPECT_EQ(view->containers[0].alone, Bytes(700));
  ASSERT_EQ(view->paths.size(), 1u);
  EXPECT_EQ(view->paths[0].path, "main: probe.seen[*]");
  EXPECT_EQ(view->paths[0].place, "train.py:37");
  EXPECT_EQ(view->paths[0].bytes, Bytes(700));
  EXPECT_EQ(view->paths[0].found.number, 1);
  EXPECT_EQ(view->later + view->not_found, 3);
}

TEST(HoldersView, OfAStorageThePathIsAsItWasRead) {
  ProgramTrace program;
  const TraceData data = program.trace.load();
  const analyzer::Analysis analysis = analyzer::analyze(data);
  const auto third = static_cast<std::int64_t>(program.kept[2]) + 1;  // how the trace numbers them
  const auto view = holders_view("t.dcmt", analysis, "storage:" + std::to_string(third));
  ASSERT_TRUE(view.ok()) << view.error().message;
  ASSERT_EQ(view->paths.size(), 1u);
  EXPECT_EQ(view->paths[0].path, "main: probe.seen[2]");
}

TEST(HoldersView, APlaceIsNamedByItsLine) {
  ProgramTrace program;
  const TraceData data = program.trace.load();
  const analyzer::Analysis analysis = analyzer::analyze(data);
  const auto of_line = [&](const std::string& place) { return holders_view("t.dcmt", analysis, place); };
  EXPECT_EQ(of_line("train.py:21")->storages, 10);
  EXPECT_EQ(of_line("train.py:40")->storages, 1);
  EXPECT_FALSE(of_line("rain.py:21").ok()) << "a part of a name is none";
  EXPECT_FALSE(of_line("train.py:2").ok());
}

TEST(HoldersView, WhatIsNotThereIsSaid) {
  ProgramTrace program;
  const TraceData data = program.trace.load();
  const analyzer::Analysis analysis = analyzer::analyze(data);
  for (const std::string asked : {"99999", "finding:2", "storage:99999", "finding:", "storage:x", "nowhere.py:1", ""}) {
    const auto view = holders_view("t.dcmt", analysis, asked);
    ASSERT_FALSE(view.ok()) << asked;
    EXPECT_EQ(view.error().code, ErrorCode::kUsage);
  }
}

}  // namespace
}  // namespace dcmt::model
