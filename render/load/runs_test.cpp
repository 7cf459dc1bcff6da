// Tests several traces: ranks together, two runs, a trace whose file changes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "analyzer/compare/memory_facts.h"
#include "analyzer/testing/test_trace.h"
#include "collector/recorder/folder/local_folder.h"
#include "collector/recorder/folder/run_folder.h"
#include "render/load/comparison.h"
#include "render/load/file_stamp.h"
#include "render/load/ranks.h"
#include "render/load/recorder_state.h"
#include "render/load/session.h"
#include "render/load/testing.h"
#include "trace/base/quantities.h"

namespace dcmt::load {
namespace {

using testing::TestTrace;

/// Steps that allocate and free. `more`: bytes kept from the second step on.
void train(TestTrace& trace, int steps, std::int64_t bytes, std::int64_t more = 0) {
  std::vector<TestTrace::Handle> kept;
  for (int step = 0; step < steps; ++step) {
    trace.phase("forward", [&] {
      trace.stack = {{"/home/user/train.py", "main", 7}};
      const TestTrace::Handle a = trace.allocate(bytes);
      trace.op("aten::mm");
      trace.stack = {{"/home/user/train.py", "main", 9}};
      if (step > 0 && more > 0) kept.push_back(trace.allocate(more));
      trace.drop(a);
    });
    trace.step(step);
  }
}

/// The traces of a run. The clocks of consecutive ranks differ by a second.
class RanksOfOne {
 public:
  explicit RanksOfOne(const std::vector<std::int64_t>& more) {
    for (std::size_t rank = 0; rank < more.size(); ++rank) {
      TestTrace& trace = traces_.emplace_back();
      trace.meta_integers = {{"pid", 4711},
                             {"rank", static_cast<std::int64_t>(rank)},
                             {"world_size", static_cast<std::int64_t>(more.size())}};
      const auto off = static_cast<std::int64_t>(rank) * 1'000'000'000;
      trace.clock = [off](std::int64_t seq) { return off + seq * 1000; };
      train(trace, 4, 8 * kMiB, more[rank]);
      paths.push_back(trace.save());
    }
  }
  std::vector<std::string> paths;

 private:
  std::deque<TestTrace> traces_;
};

TEST(Ranks, LieOnOneClockAndTheOutlierIsNamed) {
  const RanksOfOne run({0, 0, 4 * kMiB});
  const auto ranks = read_ranks(run.paths, {});
  ASSERT_TRUE(ranks.ok()) << ranks.error().message;
  const Ranks& all = **ranks;
  EXPECT_EQ(all.paths, run.paths);
  ASSERT_EQ(all.apart.size(), 1U);
  EXPECT_EQ(all.apart.front().rank, 2);
  ASSERT_EQ(all.strips.strips.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const scene::Strip& strip = all.strips.strips[i];
    EXPECT_EQ(strip.apart, i == 2);
    std::int64_t highest = 0;
    for (const auto& stretch : strip.stretches) highest = std::max(highest, stretch.value);
    EXPECT_EQ(highest, all.comparison.ranks[i].devices.front().bytes.value);
    EXPECT_EQ(strip.note.starts_with("peak 8.0 MiB"), i != 2) << strip.note;
    // A second off on its own clock, but at the same position on the common clock.
    EXPECT_NEAR(strip.stretches.front().from, 0, 20e3) << i;
    const auto session = open_session(run.paths[i]);
    ASSERT_TRUE(session.ok());
    const scene::Recording& recording = (*session)->devices.front()->recording();
    const double at = all.axis_of(i, recording.ns((*session)->devices.front()->document().curve->peak_at()));
    EXPECT_GE(at, 0);
    EXPECT_LE(at, all.strips.length);
  }
  EXPECT_LT(all.strips.length, 1e6) << "microseconds, not the seconds between the clocks";
  EXPECT_EQ(all.index_of(run.paths[1]), 1U);
  EXPECT_EQ(all.index_of("elsewhere"), 3U);
}

TEST(Ranks, OfWhatIsNoRunIsOneLine) {
  const RanksOfOne run({0, 0});
  const auto twice = read_ranks({run.paths[0], run.paths[0]}, {});
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().message.find('\n'), std::string::npos);
  EXPECT_FALSE(read_ranks({run.paths[0], "/nowhere.dcmt"}, {}).ok());
  const std::atomic<bool> stop{true};
  const auto stopped = read_ranks(run.paths, {{}, &stop});
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, ErrorCode::kStopped);
}

TEST(Comparison, ColumnsAndExplanationsAreThoseOfTheModel) {
  TestTrace old_run, new_run;
  train(old_run, 5, 8 * kMiB);
  train(new_run, 7, 6 * kMiB, 3 * kMiB);
  const auto before = open_session(old_run.save());
  const auto after = open_session(new_run.save());
  ASSERT_TRUE(before.ok() && after.ok());
  const auto comparison = compare(**before, **after);
  EXPECT_EQ(comparison->steps, 5U);
  const auto expected = analyzer::difference_of(analyzer::memory_facts("", (*before)->analysis),
                                                analyzer::memory_facts("", (*after)->analysis));
  ASSERT_EQ(comparison->difference.numbers.size(), expected.numbers.size());
  ASSERT_FALSE(expected.numbers.empty());
  EXPECT_EQ(comparison->difference.numbers.front().name, expected.numbers.front().name);

  // The highest column of a step is the step's peak in the report.
  ASSERT_EQ(comparison->strips.strips.size(), 3U);
  const auto& [was, is, less] = std::tie(comparison->strips.strips[0].stretches, comparison->strips.strips[1].stretches,
                                         comparison->strips.strips[2].stretches);
  const auto peak_of = [](const std::vector<scene::Strip::Stretch>& stretches, std::size_t step) {
    std::int64_t highest = 0;
    for (const auto& each : stretches) {
      if (static_cast<std::size_t>(each.from + 1e-9) == step) highest = std::max(highest, each.value);
    }
    return highest;
  };
  for (std::size_t step = 0; step < 5; ++step) {
    EXPECT_EQ(peak_of(was, step), (*before)->report.steps[step].peak.value) << step;
    EXPECT_EQ(peak_of(is, step), (*after)->report.steps[step].peak.value) << step;
  }
  for (std::size_t i = 0; i < less.size(); ++i) {
    EXPECT_EQ(less[i].value, is[i].value - was[i].value);
    EXPECT_EQ(less[i].from, was[i].from);
  }
  EXPECT_EQ(expected.steps.size(), 5U);
  const auto same = compare(**before, **before);
  EXPECT_TRUE(same->difference.equal_runs());
  for (const auto& each : same->strips.strips[2].stretches) EXPECT_EQ(each.value, 0);
}

TEST(Comparison, OfAFolderChoosesTheSameRank) {
  const RanksOfOne run({0, 0, kMiB});
  const std::filesystem::path folder = std::filesystem::path(run.paths[0]).parent_path() / "all";
  std::filesystem::create_directory(folder);
  for (std::size_t i = 0; i < 3; ++i) std::filesystem::copy(run.paths[i], folder / ("r" + std::to_string(i) + ".dcmt"));
  const auto session = open_session(run.paths[2]);
  ASSERT_TRUE(session.ok());
  const auto comparison = compare_with(folder.string(), **session, {});
  ASSERT_TRUE(comparison.ok()) << comparison.error().message;
  EXPECT_TRUE((*comparison)->before.ends_with("r2.dcmt"));
  EXPECT_TRUE((*comparison)->difference.equal_runs());
  std::filesystem::remove(folder / "r2.dcmt");
  const auto lacking = compare_with(folder.string(), **session, {});
  ASSERT_FALSE(lacking.ok());
  EXPECT_EQ(lacking.error().code, ErrorCode::kNotComparable);
}

TEST(FileStamp, SaysWhatHappenedToAFile) {
  TestTrace trace;
  const std::filesystem::path path = trace.folder() / "a";
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  write("some");
  const FileStamp stamp = stamp_of(path.string());
  EXPECT_EQ(change_of(stamp, stamp_of(path.string())), FileChange::kNone);
  write("some more");
  EXPECT_EQ(change_of(stamp, stamp_of(path.string())), FileChange::kWritten);
  write("so");
  EXPECT_EQ(change_of(stamp, stamp_of(path.string())), FileChange::kShorter);
  write("some");
  std::ofstream(path.string() + "-wal") << "log";
  EXPECT_EQ(change_of(stamp, stamp_of(path.string())), FileChange::kWritten) << "what is new may be in the log alone";
  std::ofstream(trace.folder() / "b") << "other";
  std::filesystem::rename(trace.folder() / "b", path);
  EXPECT_EQ(change_of(stamp, stamp_of(path.string())), FileChange::kReplaced);
  std::filesystem::remove(path);
  EXPECT_EQ(change_of(stamp, stamp_of(path.string())), FileChange::kGone);
}

TEST(RecorderState, IsWhatTheRunOfTheFolderSays) {
  TestTrace trace;
  const std::string path = trace.save();
  EXPECT_EQ(recorder_of(path), Recorder::kUnknown);
  recorder::RunState run;
  run.spool_folder = "/dev/shm/dcmt-x";
  run.recorder_pid = getpid();
  run.recorder_start = 1;  // of another process with the same number
  run.host = "elsewhere";
  run.boot = "another";
  run.state = "recording";
  run.traces = {{"spool", "rank0.dcmt"}};
  ASSERT_TRUE(recorder::create_run(trace.folder().string(), run).ok());
  EXPECT_EQ(recorder_of(path), Recorder::kAlive);
  EXPECT_EQ(recorder_of((trace.folder() / "other.dcmt").string()), Recorder::kUnknown);
  run.host = recorder::this_host();
  run.boot = recorder::this_boot();
  ASSERT_TRUE(recorder::save_run(trace.folder().string(), run).ok());
  EXPECT_EQ(recorder_of(path), Recorder::kGone);
  run.state = "recovered";
  ASSERT_TRUE(recorder::save_run(trace.folder().string(), run).ok());
  EXPECT_EQ(recorder_of(path), Recorder::kDone);
}

TEST(RecorderState, OfALocalTraceIsWhatTheOutputFolderSays) {
  TestTrace trace;
  LocalRun run(trace.folder() / "output", {"rank0.dcmt"});
  const std::string path = run.local_path("rank0.dcmt");
  std::filesystem::rename(trace.save(), path);
  EXPECT_EQ(finished_path(path), run.output_path("rank0.dcmt"));
  run.state.recorder_start = 1;  // of another process with the same number
  run.save();
  EXPECT_EQ(recorder_of(path), Recorder::kGone);
  EXPECT_EQ(*traces_of(run.output), std::vector<std::string>{path});
  run.state.host = "node7";
  run.save();
  const auto elsewhere = traces_of(run.output);
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_NE(elsewhere.error().message.find("rank0.dcmt is still on node7: " + path), std::string::npos);
  run.state.traces.clear();
  run.save();
  EXPECT_EQ(recorder_of(path), Recorder::kUnknown);
  EXPECT_EQ(finished_path("rank0.dcmt"), "rank0.dcmt");
}

TEST(Session, TracesOfAFolderComeByTheirNumbers) {
  TestTrace trace;
  for (const char* name : {"rank10.dcmt", "rank2.dcmt", "rank0.dcmt", "other.dcmt", "rank02.dcmt", "no.txt"})
    std::ofstream(trace.folder() / name) << "x";
  const auto files = traces_of(trace.folder().string());
  ASSERT_TRUE(files.ok());
  std::string names;
  for (const std::string& file : *files) names += std::filesystem::path(file).stem().string() + " ";
  EXPECT_EQ(names, "other rank0 rank02 rank2 rank10 ");
}

}  // namespace
}  // namespace dcmt::load
