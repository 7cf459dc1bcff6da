// Tests the program as a process: exit codes, one-line errors, help, JSON on standard output.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "analyzer/testing/test_trace.h"
#include "collector/recorder/folder/run_folder.h"

namespace dcmt::cli {
namespace {

using testing::TestTrace;

struct Outcome {
  int exit = -1;
  std::string out, err;
};

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Process : public ::testing::Test {
 protected:
  /// @param in  the working folder of the process; empty: the current one
  Outcome run(const std::string& arguments, const std::string& environment = "", const std::string& in = "") {
    const auto out = trace.folder() / "stdout";
    const auto err = trace.folder() / "stderr";
    const std::string command = (in.empty() ? "" : "cd '" + in + "' && ") + environment + " '" DCMT_PROGRAM "' " +
                                arguments + " >" + out.string() + " 2>" + err.string();
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out), content(err)};
  }
  void expect_error(const std::string& arguments, int exit, const std::string& part) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit, exit) << arguments << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_TRUE(outcome.err.starts_with("dc-memtrace: ")) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
  std::string defect() {
    testing::add_zero3_graph(trace, 3, 1000, false);
    trace.step(1);
    return trace.save();
  }

  TestTrace trace;
};

TEST_F(Process, UsageErrors) {
  expect_error("frobnicate", 2, "unknown command 'frobnicate'");
  expect_error("reprot x", 2, "Did you mean report?");
  expect_error("report --no-such-option x", 2, "--no-such-option");
  expect_error("show peak x --by colour", 2, "--by");
  expect_error("show curve x --rows 0", 2, "--rows");
  const Outcome views = run("show");
  EXPECT_EQ(views.exit, 0) << views.err;
  EXPECT_NE(views.out.find("  holders   Who holds storages"), std::string::npos) << views.out;
  const Outcome nothing = run("");
  EXPECT_EQ(nothing.exit, 2);
  EXPECT_NE(nothing.out.find("report"), std::string::npos);
}

TEST_F(Process, AMisspeltNameHasASuggestion) {
  expect_error("--hlep", 2, "unknown option --hlep. Did you mean --help?");
  expect_error("show peeak x", 2, "unknown view 'peeak'. Did you mean peak?");
  expect_error("report x --jsno", 2, "unknown option --jsno. Did you mean --json?");
  expect_error("report x --htlm=page.html", 2, "unknown option --htlm. Did you mean --html?");
  expect_error("attach --naem train.py", 2, "unknown option --naem. Did you mean --name?");
  expect_error("attach train.py", 2, "'train.py' is no whole number from 1 on");
  expect_error("run --detial full x.py", 2, "unknown option --detial. Did you mean --detail?");
  expect_error("run --detail ful x.py", 2, "'ful' is none of lifetimes, full, operators. Did you mean full?");
  expect_error("run --spool-mib x x.py --detial", 2, "--spool-mib");  // what follows x.py is its own
  expect_error("convert x --to perfeto -o y", 2, "Did you mean perfetto?");
  expect_error("show peak x --by categroy", 2, "Did you mean category?");
  expect_error("show peak x --by modul:2", 2, "Did you mean module?");
  expect_error("report lsat", 3, "no such file or folder. Did you mean last?");
}

TEST_F(Process, AnOptionBehindTheProgramIsTheProgramsAndThatIsSaid) {
  const auto note_of = [&](const std::string& words) {
    return run("run -o " + trace.folder().string() + "/o " + words).err;
  };
  EXPECT_TRUE(
      note_of("no-such-program --detail full").starts_with("dc-memtrace: --detail stands behind no-such-program"));
  EXPECT_EQ(note_of("-- no-such-program --detail full").find("stands behind"), std::string::npos);
  EXPECT_EQ(note_of("no-such-program --epochs 3").find("stands behind"), std::string::npos);
}

TEST_F(Process, WithoutAPathTheNewestRunIsMeant) {
  const auto in = [&](const std::string& arguments) { return run(arguments, "", trace.folder().string()); };
  for (const char* const command : {"report", "show peak", "show curve", "show ranks", "convert --to csv -o x.csv",
                                    "trim --to peak -o x.dcmt", "reproduce", "prove -- true"}) {
    const Outcome none = in(command);
    EXPECT_EQ(none.exit, 3) << command;
    EXPECT_NE(none.err.find("no run in this folder"), std::string::npos) << command << none.err;
  }
  const std::string folder = trace.folder() / "dc-memtrace-out" / "train";
  std::filesystem::create_directories(folder);
  std::filesystem::rename(defect(), folder + "/rank0.dcmt");
  recorder::RunState finished;
  finished.state = "finished";
  ASSERT_TRUE(recorder::create_run(folder, finished).ok());
  for (const char* const command : {"report", "show peak", "show curve"}) {
    const Outcome newest = in(command);
    EXPECT_EQ(newest.exit, 0) << command << newest.err;
    EXPECT_EQ(newest.out, in(command + std::string(" last")).out);
  }
  expect_error("show storage 7", 2, "as in: dc-memtrace show storage last 1");
  expect_error("show holders last", 2, "as in: dc-memtrace show holders last 1");
  expect_error("diff last", 2, "two runs are required");
}

TEST_F(Process, HelpHasExamples) {
  for (const std::string command :
       {"", "report ", "show ", "show curve ", "show peak ", "show releases ", "show live ", "show storage ",
        "show holders ", "show saved ", "show recompute ", "show memory ", "show ranks ", "doctor "}) {
    const Outcome outcome = run(command + "--help");
    EXPECT_EQ(outcome.exit, 0) << command;
    EXPECT_NE(outcome.out.find("Example"), std::string::npos) << command;
  }
  EXPECT_EQ(run("--version").exit, 0);
}

TEST_F(Process, BadInput) {
  const std::string folder = trace.folder().string();
  expect_error("report " + folder + "/nothing.dcmt", 3, "nothing.dcmt");
  expect_error("report " + folder, 3, "no trace (*.dcmt)");
  std::ofstream(folder + "/foreign.dcmt") << std::string(5000, 'x');
  expect_error("report " + folder + "/foreign.dcmt", 3, "foreign.dcmt");
  const std::string newer = trace.save("newer.dcmt");
  {
    Expected<Database> database = Database::open(newer, OpenMode::kReadWrite);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE(database->execute("PRAGMA user_version = 99").ok());
  }
  expect_error("report " + newer, 3, "schema 99");
}

TEST_F(Process, FindingsFailOnlyWhereAsked) {
  const std::string path = defect();
  EXPECT_EQ(run("report " + path).exit, 0);
  EXPECT_EQ(run("report --fail-on-findings " + path).exit, 1);
  TestTrace clean;
  testing::add_zero3_graph(clean, 3, 1000, true);
  clean.step(1);
  EXPECT_EQ(run("report --fail-on-findings " + clean.save()).exit, 0);
  TestTrace trial;
  trial.meta_texts["origins"] = "profiling\tzero3::*\t\t\ttrial\n";
  const auto tried = trial.allocate(1000);
  trial.gather(6, tried);
  trial.release(6, tried);
  trial.op("aten::mm");
  trial.drop(tried);
  trial.allocate(100'000);
  const std::string path_of_trial = trial.save();
  EXPECT_NE(run("report " + path_of_trial).out.find("No finding in training; 1 finding of profiling"),
            std::string::npos);
  EXPECT_EQ(run("report --fail-on-findings " + path_of_trial).exit, 0);
}

TEST_F(Process, PathsMayFollowDashes) {
  const std::string path = defect();
  const Outcome plain = run("report " + path);
  const Outcome dashed = run("report -- " + path);
  EXPECT_EQ(dashed.exit, 0) << dashed.err;
  EXPECT_EQ(dashed.out, plain.out);
  expect_error("report -- --json", 3, "--json");
}

TEST_F(Process, EveryViewRunsAndWritesJson) {
  const std::string path = defect();
  for (const std::string arguments : {"report ", "show curve ", "show peak ", "show releases ", "show live --at peak ",
                                      "show live --at step:1 --by kind ", "show storage ", "show holders ",
                                      "show saved ", "show recompute ", "show memory "}) {
    const std::string full =
        arguments + path + (arguments == "show storage " || arguments == "show holders " ? " 1" : "");
    const Outcome text = run(full);
    EXPECT_EQ(text.exit, 0) << text.err;
    EXPECT_NE(text.out, "");
    EXPECT_EQ(text.out.find('\x1b'), std::string::npos) << "no colour into a pipe";
    const Outcome json = run(full + " --json");
    EXPECT_EQ(json.exit, 0) << json.err;
    const auto parsed = nlohmann::json::parse(json.out, nullptr, false);
    ASSERT_TRUE(parsed.is_object()) << full;
    EXPECT_EQ(parsed["version"], 1);
    EXPECT_EQ(parsed["traces"].size(), 1u);
  }
}

TEST_F(Process, LiveIsThePeakAndNamesStoragesThatCanBeShown) {
  const std::string path = defect();
  const Outcome live = run("show live " + path);
  EXPECT_EQ(live.out, run("show live --at peak " + path).out);
  EXPECT_NE(live.out.find("alive at the peak"), std::string::npos) << live.out;
  EXPECT_NE(run("show live --at step:1 " + path).out.find("alive at the end of step 1 "), std::string::npos);
  EXPECT_EQ(run("show live --at exit " + path).exit, 0);
  const std::size_t next = live.out.find("next: dc-memtrace ");
  ASSERT_NE(next, std::string::npos) << live.out;
  const std::string command = live.out.substr(next + 18, live.out.find('\n', next) - next - 18);
  EXPECT_EQ(run(command).exit, 0) << command;
}

TEST_F(Process, BytesAreExactWhereAskedFor) {
  trace.allocate(12'589'056);
  const std::string path = trace.save();
  for (const std::string command : {"report ", "show peak ", "show live ", "show curve "}) {
    EXPECT_NE(run(command + path).out.find("12.0 MiB"), std::string::npos) << command;
    EXPECT_EQ(run(command + path).out.find("12,589,056 B"), std::string::npos) << command;
    EXPECT_NE(run(command + "--bytes " + path).out.find("12,589,056 B"), std::string::npos) << command;
  }
}

TEST_F(Process, ProcessesAreSummedUp) {
  trace.allocate(3 << 20);
  TestTrace other;
  other.allocate(5 << 20);
  const std::string both = trace.save() + " " + other.save();
  const Outcome report = run("report " + both);
  EXPECT_NE(report.out.find("2 processes: at most 8.0 MiB on cpu together"), std::string::npos) << report.out;
}

TEST_F(Process, WithoutARunThereIsNoLastOne) {
  const Outcome none = run("report last", "", trace.folder().string());
  EXPECT_EQ(none.exit, 3);
  EXPECT_NE(none.err.find("no run in this folder"), std::string::npos) << none.err;
}

TEST_F(Process, PointsAndStoragesThatAreNotThere) {
  const std::string path = defect();
  expect_error("show live --at nowhere " + path, 2, "'nowhere' names no point in this trace");
  expect_error("show live --device cuda:7 " + path, 2, "Devices of this trace: cpu.");
  EXPECT_EQ(run("show live --device cpu --at 20 " + path).out, run("show live --at 20 " + path).out);
  expect_error("show storage " + path + " 999", 2, "no storage 999");
  expect_error("show saved --at nowhere " + path, 2, "'nowhere' names no point in this trace");
  expect_error("show holders " + path + " nowhere.py:3", 2, "no finding, storage or place 'nowhere.py:3'");
  expect_error("show peak --rank 7 " + path, 3, "no trace of rank 7");
}

TEST_F(Process, RanksAreComparedOrRefused) {
  const std::string path = defect();
  Outcome outcome = run("show ranks " + path);
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("only rank 0 has a trace"), std::string::npos) << outcome.out;
  TestTrace other;
  testing::add_zero3_graph(other, 2, 1000, false);
  other.step(1);
  expect_error("show ranks " + path + " " + other.save(), 5, "two traces of rank 0");
  other.meta_integers["rank"] = 1;
  outcome = run("show ranks --json " + path + " " + other.save());
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  const auto parsed = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(parsed.is_object());
  EXPECT_EQ(parsed["differs"], true);
  EXPECT_EQ(parsed["gather_order"]["position"], 2);
  other.meta_integers["rank"] = -1;
  expect_error("show ranks " + other.save(), 5, "no trace of a rank");
  expect_error("show ranks " + other.folder().string() + "/nothing", 3, "nothing");
}

TEST_F(Process, CurvesThatAreNotThereOrDamaged) {
  const std::string path = defect();
  expect_error("show curve --device cuda:7 " + path, 2, "Devices of this trace: cpu.");
  expect_error("show curve --from step:9 " + path, 2, "'step:9' names no point in this trace");
  expect_error("show curve --from 20 --to 10 " + path, 2, "--from lies after --to");
  expect_error("show curve --rank 7 " + path, 3, "no trace of rank 7");
  {
    Expected<Database> database = Database::open(path, OpenMode::kReadWrite);
    ASSERT_TRUE(database->execute("UPDATE pyramid SET highest = -1").ok());
  }
  expect_error("show curve " + path, 3, "damaged: the pyramid of its curve");
  {
    Expected<Database> database = Database::open(path, OpenMode::kReadWrite);
    ASSERT_TRUE(database->execute("ALTER TABLE pyramid DROP COLUMN highest").ok());
  }
  expect_error("show curve " + path, 3, "highest");
}

TEST_F(Process, DoctorSaysWhatIsMissing) {
  const Outcome outcome = run("doctor --json", "DCMT_PYTHON=/nonexistent/python");
  EXPECT_EQ(outcome.exit, 4);
  const auto parsed = nlohmann::json::parse(outcome.out, nullptr, false);
  ASSERT_TRUE(parsed.is_object());
  EXPECT_EQ(parsed["can_record"], false);
  bool found = false;
  for (const auto& check : parsed["checks"]) {
    if (check["name"] != "python") continue;
    found = true;
    EXPECT_EQ(check["ok"], false);
    EXPECT_NE(check["fix"], "");
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace dcmt::cli
