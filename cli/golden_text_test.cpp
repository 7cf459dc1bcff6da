// Compares complete report texts, for one trace with the defect and one without. To accept a change, run with
// DCMT_UPDATE_GOLDEN=1 and review the difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "analyzer/model/curve_view.h"
#include "analyzer/model/report.h"
#include "analyzer/ranks/ranks_of_run.h"
#include "analyzer/replay/replay_planner.h"
#include "analyzer/testing/gpu_trace.h"
#include "analyzer/testing/test_trace.h"
#include "cli/curve_text.h"
#include "cli/inputs.h"
#include "cli/rank_summaries.h"
#include "cli/ranks_text.h"
#include "cli/report_text.h"
#include "cli/reproduce_text.h"
#include "cli/show_text.h"
#include "cli/story_program.h"
#include "trace/sql/trace_file.h"

namespace dcmt::cli {
namespace {

using testing::TestTrace;

/// The report as `report` prints it.
std::string report_text(const std::vector<LoadedTrace>& traces) {
  ReportText text(traces.size() > 1, Style{});
  analyzer::RanksOfRun ranks;
  for (const LoadedTrace& trace : traces) {
    text.add(model::report_of(trace.path, trace.analysis));
    ranks.add(analyzer::rank_summary(trace.analysis));
  }
  return text.text() + run_text(ranks, Style{}) + text.next_line();
}

std::string live_of(const LoadedTrace& trace, const std::string& at, const Grouping& by) {
  const Expected<model::LiveView> view = model::live_view(trace.path, trace.analysis, at, true);
  EXPECT_TRUE(view.ok()) << view.error().message;
  return live_text(*view, by, Style{});
}

constexpr std::int64_t kBytes = 1'048'584;

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(DCMT_SOURCE_DIR) + "/cli/golden/" + name;
  if (std::getenv("DCMT_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << "golden file " << path;
}

std::string report_of(TestTrace& trace) {
  trace.save();
  Expected<std::vector<LoadedTrace>> traces = load_traces({trace.folder().string()}, std::nullopt);
  EXPECT_TRUE(traces.ok());
  return replaced(report_text(*traces), trace.folder().string(), "out");
}

void three_steps(TestTrace& trace, bool fixed) {
  for (std::int64_t step = 1; step <= 3; ++step) {
    trace.phase("forward", [&] { testing::add_zero3_graph(trace, 12, kBytes, fixed); });
    trace.step(step);
  }
}

TEST(GoldenText, Defect) {
  TestTrace trace;
  three_steps(trace, false);
  expect_golden("report_defect.txt", report_of(trace));
}

TEST(GoldenText, Replays) {
  TestTrace trace;
  three_steps(trace, false);
  const auto traces = load_traces({trace.save()}, std::nullopt);
  ASSERT_TRUE(traces.ok());
  const LoadedTrace& loaded = traces->front();
  std::vector<model::Replay> replays(3);
  for (model::Replay& replay : replays) {
    const auto region = analyzer::region_of(loaded.analysis, loaded.analysis.findings.front());
    ASSERT_TRUE(region.ok());
    replay.findings = {&loaded.analysis.findings.front()};
    replay.plan = std::move(*analyzer::plan_of(loaded.analysis, *region));
    replay.facts = replay.plan.facts;
  }
  ++replays[1].facts.releases[4].allocated.value;
  replays[1].difference = analyzer::first_difference(replays[1].plan.facts, replays[1].facts);
  replays[2].switches = {"release_clears_tensor_only=off"};
  replays[2].facts.peak = *replays[2].plan.facts.predicted_peak;
  for (analyzer::ReleaseFacts& release : replays[2].facts.releases) release.verdict = analyzer::Verdict::kFreed;
  expect_golden("reproduce.txt",
                replaced(reproduce_text(model::reproduce_view(loaded.path, loaded.analysis, replays), Style{}),
                         trace.folder().string(), "out") +
                    "\n" + story_program(loaded.path, replays[0].plan, replays[0].findings.front()));
}

TEST(GoldenText, Clean) {
  TestTrace trace;
  three_steps(trace, true);
  expect_golden("report_clean.txt", report_of(trace));
}

TEST(GoldenText, KernelsOfAGpu) {
  TestTrace trace;
  trace.gpu = 0;
  trace.stack = {{"/home/user/train.py", "main", 18}};
  std::vector<TestTrace::Handle> handles;
  for (std::int64_t key = 0; key < 2; ++key) {
    trace.op("zero3::allgather_param", [&] {
      handles.push_back(trace.allocate(kBytes));
      trace.gather(key, handles.back());
    });
  }
  trace.launches(true, 40);
  trace.release(0, handles[0]);
  trace.launches(true, 40);
  const auto release = trace.release(1, handles[1]);
  trace.stack = {{"/home/user/train.py", "main", 20}};
  trace.op("aten::mm", [&] { trace.read(release, 1, handles[1], "aten::mm"); });
  for (const char* kernel : {"gemm<float>(float*, float*)", "triton_poi_fused_add_0"}) {
    trace.kernel_read(release, 1, handles[1], kernel);
  }
  trace.launches(true, 1280, 8, 4);
  for (const TestTrace::Handle handle : handles) trace.drop(handle);
  trace.step(1);
  expect_golden("report_kernels.txt", report_of(trace));
}

/// A batch of the side stream that the main stream still reads when the side stream copies the next one there.
TEST(GoldenText, AReuseInFlight) {
  testing::GpuTrace trace;
  const auto use = [&](std::int64_t line, std::string_view kind, std::int64_t stream, TestTrace::Handle block,
                       const char* op, const char* name) {
    trace.stack = {{"/home/user/train.py", "forward", line}, {"/home/user/train.py", "main", 40}};
    trace.op(op, [&] { trace.stream_call({.kind = kind, .stream = stream, .uses = {block}, .name = name}); });
  };
  TestTrace::Handle batch = trace.at(20, 1, 64);
  for (int step = 0; step < 3; ++step) {
    use(20, "copy", 1, batch, "aten::copy_", "cuMemcpyHtoDAsync_v2");
    trace.stream_call({.kind = "record", .stream = 1, .event = 0x7000});
    trace.stream_call({.kind = "wait", .event = 0x7000});
    use(24, "kernel", 0, batch, "aten::mul",
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> "
        ">(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)");
    trace.drop(batch);
    trace.reuse(batch);
    batch = trace.at(20, 1, 64);
  }
  use(20, "copy", 1, batch, "aten::copy_", "cuMemcpyHtoDAsync_v2");
  trace.step(1);
  trace.allocator_peaks(64, 64);
  expect_golden("report_in_flight.txt", report_of(trace));
}

/// The CPU has the higher peak. Both devices have storages that outlive their releases; one of them is tied.
TEST(GoldenText, SeveralDevicesAndFindingsTogether) {
  TestTrace trace;
  trace.stack = {{"/home/user/train.py", "main", 18}};
  const auto gathered = [&](std::int64_t key) {
    TestTrace::Handle handle = 0;
    trace.op("zero3::allgather_param", [&] {
      handle = trace.allocate(kBytes);
      trace.gather(key, handle);
    });
    return handle;
  };
  const auto released = [&](std::int64_t key, TestTrace::Handle handle, const char* by) {
    trace.release(key, handle, {.op = by});
    trace.op("aten::mm");
  };
  trace.allocate(80 * kBytes);
  released(9, gathered(9), "zero3::release_param");
  trace.gpu = 0;
  for (std::int64_t key = 0; key < 4; ++key) released(key, gathered(key), "zero3::release_param");
  const TestTrace::Handle tied = gathered(4);
  trace.gather(5, tied);
  released(4, tied, "zero3::release_param");
  released(5, tied, "other::release");
  trace.allocate(kBytes / 2);
  trace.step(1);
  expect_golden("report_devices.txt", report_of(trace));
  auto traces = load_traces({trace.folder().string()}, std::nullopt);
  ASSERT_TRUE(traces.ok());
  ASSERT_TRUE(keep_device(traces->front(), "cpu").ok());
  expect_golden("report_one_device.txt", replaced(report_text(*traces), trace.folder().string(), "out") + "\n" +
                                             peak_text(model::peak_view("", traces->front().analysis),
                                                       Grouping{analyzer::GroupBy::kKind}, Style{}));
}

TEST(GoldenText, UseAfterReleaseAndNeverReleased) {
  TestTrace trace;
  trace.stack = {{"/home/user/gather.py", "gather_all", 3}, {"/home/user/train.py", "main", 18}};
  TestTrace::Handle a = 0;
  for (std::int64_t key = 0; key < 2; ++key) {
    trace.op("zero3::allgather_param", [&] {
      a = trace.allocate(kBytes);
      trace.gather(key, a);
    });
  }
  trace.stack = {{"/home/user/hooks.py", "after_forward", 8}, {"/home/user/train.py", "main", 19}};
  const auto release = trace.release(1, a, {}, [&] { trace.resize_to_zero(a); });
  trace.stack = {{"/home/user/train.py", "main", 20}};
  trace.op(
      "MmBackward0", [&] { trace.op("aten::mm", [&] { trace.read(release, 1, a, "aten::mm"); }); }, "backward");
  trace.step(1);
  trace.loss("no_room", 3);
  trace.diagnostic("provider_off", "the python provider is off: CPython 3.9 is not supported");
  expect_golden("report_early.txt", report_of(trace));
}

TEST(GoldenText, FindingsOfATrial) {
  TestTrace trace;
  trace.meta_texts["origins"] = "profiling\t\tlib/profiler.py\t\ttrial\n";
  const std::int64_t key = 6;
  trace.stack = {{"/lib/profiler.py", "Profiler.run_node", 178}};
  const auto tried = trace.allocate(kBytes);
  trace.gather(key, tried, "all_gather");
  const auto release = trace.release(key, tried);
  trace.op("aten::mm", [&] { trace.read(release, key, tried, "aten::mm"); });
  trace.drop(tried);
  trace.stack = {{"/home/user/train.py", "main", 20}};
  trace.step(1);
  trace.allocate(4 * kBytes);
  expect_golden("report_trial.txt", report_of(trace));
}

TEST(GoldenText, OutOfMemory) {
  TestTrace trace;
  trace.phase("forward", [&] {
    testing::add_zero3_graph(trace, 12, kBytes, false);
    const auto held = trace.allocate(kBytes);
    trace.gather(40, held);
    const auto release = trace.release(40, held);
    trace.op("aten::addmm");
    testing::LocalOf kept;
    kept.name = "kept";
    kept.function = "main";
    kept.file = "/home/user/train.py";
    kept.assignment = "kept = gather()";
    kept.line = 20;
    kept.return_line = 31;
    trace.census(release, held, {kept});
    trace.op("aten::relu", [&] {
      trace.op("aten::empty", [&] {
        trace.out_of_memory({.requested = 2 * kBytes,
                             .allocated = kBytes,
                             .reserved = 2 * kBytes,
                             .free = kBytes + 512,
                             .total = 100 * kBytes});
      });
    });
  });
  trace.meta_texts["exit"] = "exit 1";
  expect_golden("report_oom.txt", report_of(trace));
}

TEST(GoldenText, Streams) {
  TestTrace trace;
  testing::add_streams(trace);
  expect_golden("report_streams.txt", report_of(trace));
}

TEST(GoldenText, StreamsOfWindows) {
  TestTrace trace;
  trace.gpu = 0;
  trace.stream = 0;
  trace.sums_only_interval(0, 10, 0, 0, 0);
  trace.drop_in_use(trace.allocate(100 * kBytes));
  trace.allocate(100 * kBytes);
  trace.step(1);
  trace.kept_interval(1, Kept::kLast);
  trace.allocator_peaks(300 * kBytes, 900 * kBytes);
  expect_golden("report_streams_windows.txt", report_of(trace));
}

TEST(ReportText, HowLongWasHeldIsSaidOfWhatWentOnly) {
  TestTrace trace;
  const auto release = [&](std::int64_t key) {
    const TestTrace::Handle handle = trace.allocate(kBytes);
    trace.gather(key, handle);
    trace.release(key, handle);
    return handle;
  };
  release(1);  // alive to the end
  for (int i = 0; i < 9; ++i) trace.op("aten::relu");
  const TestTrace::Handle second = release(2);
  trace.op("aten::relu");
  trace.drop(second);
  trace.op("aten::relu");
  const std::string text = report_of(trace);
  EXPECT_NE(text.find("by the last reference: 1 operator, "), std::string::npos) << text;
  EXPECT_NE(text.find("1 not freed to the end of the trace"), std::string::npos) << text;
}

TEST(ReportText, APeakThatIsDeadCanBeNoHigherThanAnotherPoint) {
  TestTrace trace;
  const TestTrace::Handle weight = trace.allocate(kBytes);
  trace.gather(1, weight);
  trace.op("aten::mm");
  trace.release(1, weight);
  trace.op("aten::relu");
  trace.allocate(8);
  const std::string text = report_of(trace);
  EXPECT_NE(text.find("100 % of the peak is dead; without it another peak is as high, "), std::string::npos) << text;
}

TEST(GoldenText, ShowStorageReleasesPeakAndLive) {
  TestTrace trace;
  trace.phase("forward", [&] { testing::add_zero3_graph(trace, 3, kBytes, false); });
  trace.step(1);
  trace.save();
  const auto traces = load_traces({trace.folder().string()}, std::nullopt);
  ASSERT_TRUE(traces.ok());
  const LoadedTrace& loaded = traces->front();
  const auto storage = model::storage_view(loaded.path, loaded.analysis, StorageId(1));
  ASSERT_TRUE(storage.ok());
  const std::string text =
      storage_text(*storage, Style{}) + "\n" +
      releases_text(model::releases_view(loaded.path, loaded.analysis), Style{}) + "\n" +
      peak_text(model::peak_view(loaded.path, loaded.analysis), Grouping{analyzer::GroupBy::kOperator}, Style{}) +
      "\n" + live_of(loaded, "20", {analyzer::GroupBy::kSite}) + "\n" +
      live_of(loaded, "40", {analyzer::GroupBy::kOwner});
  expect_golden("show.txt", replaced(text, trace.folder().string(), "out"));
}

TEST(GoldenText, ShowStorageNamesWhoHeldItAsTheMemoryWasRead) {
  TestTrace trace;
  const auto kept = trace.allocate(kBytes);
  trace.held(kept, {.containers = {"main: losses"}, .path = "main: losses[3]"});
  const auto cycle = trace.allocate(kBytes);
  trace.held(cycle, {.path = "cycle Node.next → Node", .otherwise = true});
  trace.save();
  const auto traces = load_traces({trace.folder().string()}, std::nullopt);
  ASSERT_TRUE(traces.ok());
  const auto text_of = [&](TestTrace::Handle handle) {
    const auto view = model::storage_view(traces->front().path, traces->front().analysis, trace.storage_id(handle));
    return view.ok() ? storage_text(*view, Style{}) : view.error().message;
  };
  EXPECT_NE(text_of(kept).find("\nheld by, when the memory was read\n  main (train.py:37): losses[3]\n"),
            std::string::npos)
      << text_of(kept);
  EXPECT_NE(text_of(cycle).find("  cycle Node.next → Node"), std::string::npos) << text_of(cycle);
}

TEST(GoldenText, ShowCurve) {
  TestTrace trace;
  trace.allocate(3 * kBytes);
  for (std::int64_t step = 1; step <= 3; ++step) {
    for (std::int64_t i = 0; i < 40; ++i) trace.drop(trace.allocate(step * i * 100'000));
    trace.step(step);
    trace.kept_interval(step, Kept::kAll);
  }
  trace.sums_only_interval(4, 6, 3 * kBytes, 16 * kBytes, 4 * kBytes);
  const std::string path = trace.save();
  const auto curve_of = [&path](const analyzer::CurveQuestion& question) {
    Expected<Database> database = open_trace(path);
    const Expected<analyzer::CurveOverview> curve = analyzer::curve_overview(*database, question);
    EXPECT_TRUE(curve.ok()) << curve.error().message;
    return curve_text(model::CurveView{path, 0, *curve}, Style{}) + "\n";
  };
  std::string text = curve_of({"", "", "", 24});
  text += curve_of({"", "step:2", "step:2", 24});
  text += curve_of({"", "", "", 2});
  {
    Expected<Database> database = Database::open(path, OpenMode::kReadWrite);
    ASSERT_TRUE(database->execute("DROP TABLE pyramid; UPDATE block SET gpu = 1 WHERE id = 3").ok());
  }
  text += curve_of({"", "", "", 24});
  text += curve_of({"cpu", "", "", 24});
  {
    Expected<Database> database = Database::open(path, OpenMode::kReadWrite);
    ASSERT_TRUE(database->execute("DELETE FROM block; DELETE FROM interval").ok());
  }
  text += curve_of({"", "", "", 24});
  expect_golden("curve.txt", text);
}

/// A run in one folder. Its ranks are added one by one, then shown or reported.
class RunOfRanks {
 public:
  explicit RunOfRanks(std::int64_t world_size) : world_size_(world_size) {}

  /// Adds a rank with steps of a graph with six parameters. `order`: the gathers of the last step.
  void rank(std::int64_t rank, bool fixed, const std::vector<std::int64_t>& order, std::int64_t bytes = kBytes) {
    TestTrace trace;
    trace.meta_integers["rank"] = rank;
    trace.meta_integers["world_size"] = world_size_;
    for (std::int64_t step = 1; step <= 2; ++step) {
      testing::add_zero3_graph(trace, 6, bytes, fixed);
      trace.step(step);
    }
    for (const std::int64_t key : order) {
      trace.stack = {{testing::kGenerated, "Runner.call", 90 + 10 * key}};
      TestTrace::Handle buffer = 0;
      trace.op("zero3::allgather_param", [&] { trace.gather(key, buffer = trace.allocate(bytes)); });
      trace.release(key, buffer, {.declared = 2, .remaining = 1, .flags = ""});
      trace.release(key, buffer, {.declared = 2}, [&] { trace.resize_to_zero(buffer); });
    }
    trace.step(3);
    add(trace, rank);
  }
  void add(TestTrace& trace, std::int64_t rank) {
    const std::string name = "rank" + std::to_string(rank) + ".dcmt";
    std::filesystem::copy_file(trace.save(), folder_.folder() / name);
  }

  std::string shown() {
    Expected<std::vector<analyzer::RankFacts>> ranks = load_rank_facts({folder_.folder().string()});
    EXPECT_TRUE(ranks.ok());
    const auto comparison = analyzer::compare_ranks(std::move(*ranks));
    EXPECT_TRUE(comparison.ok()) << comparison.error().message;
    return replaced(ranks_text(*comparison, Style{}), folder_.folder().string(), "out");
  }
  std::string reported() {
    const auto traces = load_traces({folder_.folder().string()}, std::nullopt);
    EXPECT_TRUE(traces.ok());
    return replaced(report_text(*traces), folder_.folder().string(), "out");
  }

 private:
  TestTrace folder_;
  std::int64_t world_size_;
};

TEST(RanksText, RanksThatAgreeShareARow) {
  RunOfRanks run(16);
  for (std::int64_t rank = 0; rank < 16; ++rank) run.rank(rank, false, {0, 1, 2, 3, 4, 5});
  expect_golden("ranks_alike.txt", run.shown());
  EXPECT_EQ(run.reported().find("ranks differ"), std::string::npos);
}

TEST(RanksText, WhatDiffers) {
  RunOfRanks run(6);
  run.rank(0, false, {0, 1, 2, 3, 4, 5});
  run.rank(1, false, {0, 1, 2, 3, 4, 5});
  run.rank(2, true, {0, 1, 3, 2, 4, 5});
  run.rank(4, false, {0, 1}, kBytes + 16);
  expect_golden("ranks_differ.txt", run.shown());
  EXPECT_NE(run.reported().find(
                "The ranks differ in the order of gathers, first at step 3, gather 3; in bytes, uses or "
                "persistence of 6 parameters; in whether 6 parameters are residual; in 1 finding; in their peaks (6.0 "
                "MiB on ranks 0, 1, 4; 2.0 MiB on rank 2).   next: dc-memtrace show ranks out\n"),
            std::string::npos)
      << run.reported();
}

TEST(RanksText, WindowsAndGraphNumbersOfTheRanksOwn) {
  RunOfRanks run(-1);
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    TestTrace trace;
    trace.meta_integers["rank"] = rank;
    trace.meta_integers["world_size"] = -1;
    trace.graph = 139'677'695'452'912 + 64 * rank;
    testing::add_zero3_graph(trace, 2, kBytes, true);
    trace.step(1);
    trace.kept_interval(1, Kept::kAll);
    trace.sums_only_interval(2, 6, 0, kBytes, 0);
    testing::add_zero3_graph(trace, 2, kBytes, true);
    trace.step(3);
    trace.kept_interval(3, rank == 0 ? Kept::kLast : Kept::kAll);
    trace.op("zero3::allgather_param", [&] { trace.gather(0, trace.allocate(kBytes)); });
    if (rank == 1) trace.op("zero3::allgather_param", [&] { trace.gather(1, trace.allocate(kBytes)); });
    if (rank == 1) trace.loss("no_room", 2);
    trace.key_sums = {{trace.graph, 0, 4, 3, 3, 0, 0, 0, 0}, {trace.graph, 1, 3 + rank, 3, 3, 0, 0, 0, 0}};
    run.add(trace, rank);
  }
  TestTrace child;
  child.meta_integers["rank"] = -1;
  run.add(child, 9);
  expect_golden("ranks_windows.txt", run.shown());
}

TEST(RanksText, ParametersOfFunctionsHaveTheirNames) {
  RunOfRanks run(2);
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    TestTrace trace;
    trace.meta_integers["rank"] = rank;
    trace.graph = -2;
    trace.stack = {{"/home/user/model.py", "forward", 20}};
    const auto names = rank == 0 ? std::vector{"embed.weight", "layers.0.weight", "layers.1.weight", "head.weight"}
                                 : std::vector{"embed.weight", "layers.1.weight", "layers.0.weight", "head.weight"};
    for (std::int64_t key = 0; key < 4; ++key) {
      trace.parameters.push_back({-2, key, names[static_cast<std::size_t>(key)], "FSDP2"});
      TestTrace::Handle buffer = 0;
      trace.op("FSDPParam.alloc_all_gather_outputs",
               [&] { trace.gather(key, buffer = trace.allocate(kBytes + rank)); });
      trace.release(key, buffer, {}, [&] { trace.resize_to_zero(buffer); });
    }
    trace.step(1);
    run.add(trace, rank);
  }
  expect_golden("ranks_named.txt", run.shown());
}

TEST(RanksText, AnEqualRankIsOneLine) {
  TestTrace trace;
  three_steps(trace, false);
  trace.save("rank0.dcmt");
  trace.meta_integers["rank"] = 1;
  trace.meta_integers["pid"] = 4712;
  trace.save("rank1.dcmt");
  const auto traces = load_traces({trace.folder().string()}, std::nullopt);
  ASSERT_TRUE(traces.ok());
  const std::string text = report_text(*traces);
  EXPECT_NE(text.find("rank 1: equal to rank 0"), std::string::npos) << text;
  EXPECT_NE(text.find("clocks of the ranks: aligned within 0 ns by 3 steps and 0 collectives\n"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace dcmt::cli
