// The whole text of a report, for one trace with the defect and one without. To accept a change: run with
// DCMT_UPDATE_GOLDEN=1 and read the difference.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "analyzer/test_trace.h"
#include "cli/inputs.h"
#include "cli/report_text.h"
#include "cli/show_text.h"
#include "trace/sql/trace_file.h"

namespace dcmt::cli {
namespace {

using testing::TestTrace;

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
  return replaced(report_text(*traces, Style{}), trace.folder().string(), "out");
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

TEST(GoldenText, Clean) {
  TestTrace trace;
  three_steps(trace, true);
  expect_golden("report_clean.txt", report_of(trace));
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

TEST(GoldenText, ShowStorageReleasesPeakAndLive) {
  TestTrace trace;
  trace.phase("forward", [&] { testing::add_zero3_graph(trace, 3, kBytes, false); });
  trace.step(1);
  trace.save();
  const auto traces = load_traces({trace.folder().string()}, std::nullopt);
  ASSERT_TRUE(traces.ok());
  const LoadedTrace& loaded = traces->front();
  const auto story = analyzer::storage_story(*loaded.data, loaded.analysis.releases, StorageId(1));
  ASSERT_TRUE(story);
  std::string text = storage_text(loaded, *story, Style{}) + "\n" + releases_text(loaded, Style{}) + "\n" +
                     peak_text(loaded, analyzer::GroupBy::kOperator, Style{}) + "\n" +
                     live_text(loaded, loaded.analysis.device, Sequence(20), analyzer::GroupBy::kSite, Style{});
  expect_golden("show.txt", replaced(text, trace.folder().string(), "out"));
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
    return curve_text(*curve, Style{}) + "\n";
  };
  std::string text = curve_of({"", "", "", 24});
  text += curve_of({"", "step:2", "step:2", 24});
  text += curve_of({"", "", "", 2});
  {
    Expected<Database> database = Database::open(path, OpenMode::kReadWrite);
    ASSERT_TRUE(database->execute("DROP TABLE pyramid; UPDATE block SET gpu = 1 WHERE id = 3").ok());
  }
  text += curve_of({"", "", "", 24});
  text += curve_of({"cuda:1", "", "", 24});
  {
    Expected<Database> database = Database::open(path, OpenMode::kReadWrite);
    ASSERT_TRUE(database->execute("DELETE FROM block; DELETE FROM interval").ok());
  }
  text += curve_of({"", "", "", 24});
  expect_golden("curve.txt", text);
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
  const std::string text = report_text(*traces, Style{});
  EXPECT_NE(text.find("rank 1: equal to rank 0"), std::string::npos) << text;
  EXPECT_NE(text.find("clocks of the ranks: aligned within 0 ns by 3 steps and 0 collectives\n"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace dcmt::cli
