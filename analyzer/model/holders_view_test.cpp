#include "analyzer/model/holders_view.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

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

TEST(HoldersView, OfAllThatIsAliveContainersAreAsEachStorageAsked) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    TestTrace trace;
    std::map<std::string, std::int64_t> bytes, alone;
    std::vector<Handle> gone;
    std::int64_t storages = 0;
    for (int i = 0; i < 40; ++i) {
      const std::int64_t size = 1 + static_cast<std::int64_t>(random() % 1000);
      std::set<std::string> containers;
      for (auto count = random() % 3; count > 0; --count) containers.insert("m.c" + std::to_string(random() % 5));
      const bool otherwise = random() % 3 == 0;
      const Handle handle = trace.allocate(size);
      trace.held(handle, {.containers = {containers.begin(), containers.end()}, .path = "m.x", .otherwise = otherwise});
      if (random() % 4 == 0) {
        gone.push_back(handle);
        continue;
      }
      ++storages;
      for (const std::string& each : containers) {
        bytes[each] += size;
        alone[each] += containers.size() == 1 && !otherwise ? size : 0;
      }
    }
    for (const Handle handle : gone) trace.drop(handle);
    trace.step(0);
    trace.begin_reading();
    trace.allocate(5);  // after it
    const TraceData data = trace.load();
    const auto view = holders_view("t.dcmt", analyzer::analyze(data), std::string(kAllHolders));
    ASSERT_TRUE(view.ok()) << view.error().message;
    EXPECT_EQ(view->storages, storages);
    std::map<std::string, std::int64_t> found, found_alone;
    for (const HoldingContainer& each : view->containers) {
      found.emplace(each.path, each.bytes.value);
      found_alone.emplace(each.path, each.alone.value);
    }
    EXPECT_EQ(found, bytes) << "seed " << seed;
    EXPECT_EQ(found_alone, alone) << "seed " << seed;
  }
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
