// dc-memtrace reproduce: replays the cycles of a recorded step in the reference executor, and compares the result.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/replay/replay_choice.h"
#include "analyzer/replay/replay_views.h"
#include "cli/commands.h"
#include "cli/default_folder.h"
#include "cli/inputs.h"
#include "cli/installation.h"
#include "cli/json_writer.h"
#include "cli/parser.h"
#include "cli/redirects.h"
#include "cli/reproduce_text.h"
#include "cli/story_program.h"
#include "collector/recorder/drive/run.h"
#include "trace/base/scratch_folder.h"

namespace dcmt::cli {
namespace {

namespace fs = std::filesystem;
using analyzer::Finding;
using analyzer::ReplayPlan;
using model::Replay;

struct ReproduceOptions {
  std::string path = kLastRun;
  std::optional<std::int64_t> rank, finding, step;
  std::vector<std::string> switches;
  std::string plan, emit, python;
  bool json = false;
};

/// The switches of a replay (as in dcmt_zero3.replay), and whether they can be turned on. A plan contains the releases,
/// but not which reads an earlier release would precede.
struct Switch {
  std::string_view name;
  bool on;
};
constexpr std::array kSwitches = {Switch{"release_clears_tensor_only", true}, Switch{"wrapper_keeps_aliases", true},
                                  Switch{"eager_gather_without_owner", true},
                                  Switch{"early_release_before_backward", false}};

/// The error in a switch; empty if it is valid.
std::string check_switch(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::string value = equals == std::string::npos ? "on" : text.substr(equals + 1);
  std::string acting;
  for (const Switch& one : kSwitches) {
    if (one.name == name && (value == "off" || (value == "on" && one.on))) return {};
    acting += fmt::format("{}{}{}", acting.empty() ? "" : ", ", one.name, one.on ? "" : "=off");
  }
  return fmt::format("'{}' does not act on a plan; these do: {}", text, acting);
}

Status write_file(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::cout << text;
    return {};
  }
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) return {ErrorCode::kIo, path + ": cannot be written."};
  return {};
}

/// The location of the installed executor; an error if there is none.
struct Executor {
  fs::path library, modules;
};

Expected<Executor> find_executor() {
  Executor found{library_folder() / "libdcmt_zero3.so", data_folder() / "python"};
  std::error_code ignored;
  if (!fs::exists(found.library, ignored) || !fs::exists(found.modules / "dcmt_zero3" / "replay.py", ignored)) {
    return Error{ErrorCode::kCannotRecord,
                 "the executor is not part of this installation: build with -DDCMT_EXECUTOR=ON, or use --emit."};
  }
  return found;
}

void put_first_in_path(const char* variable, const std::string& folder) {
  const char* before = std::getenv(variable);
  const std::string all = before != nullptr && *before != '\0' ? folder + ":" + before : folder;
  setenv(variable, all.c_str(), 1);
}

/// The text of a plan's file.
std::string plan_text(const LoadedTrace& trace, const ReplayPlan& plan) {
  return versioned_json(model::plan_file(trace.path, *trace.data, plan));
}

/// Replays a plan under `run`, and reads the recorded trace.
Expected<LoadedTrace> play(const ReproduceOptions& options, const LoadedTrace& trace, const ReplayPlan& plan,
                           const Executor& executor, const fs::path& folder) {
  const std::string file = (folder / "plan.json").string();
  if (const Status written = write_file(file, plan_text(trace, plan)); !written.ok()) return written.error();
  setenv("DCMT_ZERO3_LIBRARY", executor.library.c_str(), 1);
  setenv("PYTHONSAFEPATH", "1", 1);  // imports nothing from the current folder, which may have come with the trace
  recorder::RunOptions run;
  run.folder = (folder / "out").string();
  run.libraries = library_folder().string();
  run.prepared = prepared_folder().string();
  run.shipped_operators = (data_folder() / "operators.toml").string();
  run.replace = run.quiet = true;
  // Never the program that the trace names: the trace may come from anywhere.
  run.command = {options.python.empty() ? "python3" : options.python, "-m", "dcmt_zero3.replay", file};
  for (const std::string& one : options.switches) run.command.insert(run.command.end(), {"--switch", one});
  const StderrRedirect aside(folder / "stderr");
  DCMT_ASSIGN_OR_RETURN(const recorder::RunResult result, recorder::run(run));
  if (result.job_exit != (plan.cut_off ? 128 + SIGKILL : 0)) {
    const std::string last = aside.last_line();
    const char* next =
        last.starts_with("ModuleNotFoundError") ? "; name an interpreter that has torch with --python" : "";
    return Error{ErrorCode::kCannotRecord, fmt::format("the replay with {} failed (exit {}): {}{}", run.command.front(),
                                                       result.job_exit, last, next)};
  }
  DCMT_ASSIGN_OR_RETURN(std::vector<LoadedTrace> traces, load_traces({run.folder}, std::nullopt));
  return std::move(traces.front());
}

/// The requested replays. Prints what cannot be replayed if other parts can.
Expected<std::vector<Replay>> plans(const ReproduceOptions& options, const LoadedTrace& trace) {
  const auto here = [&](const Error& error) { return Error{error.code, trace.path + ": " + error.message}; };
  Expected<analyzer::ReplayChoice> choice = analyzer::choose_replays(trace.analysis, {options.finding, options.step});
  if (!choice.ok()) return here(choice.error());
  for (const Error& error : choice->left_out) print_error(here(error));
  std::vector<Replay> replays;
  for (analyzer::ChosenReplay& chosen : choice->replays) {
    Replay& replay = replays.emplace_back();
    replay.plan = std::move(chosen.plan);
    replay.findings = std::move(chosen.findings);
    replay.switches = options.switches;
  }
  return replays;
}

int reproduce(const ReproduceOptions& options) {
  const Expected<std::vector<LoadedTrace>> traces = load_traces({options.path}, options.rank);
  if (!traces.ok()) return print_error(traces.error());
  if (traces->size() > 1) {
    return print_error({ErrorCode::kUsage, fmt::format("{} has {} traces: name one, or a rank with --rank.",
                                                       options.path, traces->size())});
  }
  const LoadedTrace& trace = traces->front();
  Expected<std::vector<Replay>> replays = plans(options, trace);
  if (!replays.ok()) return print_error(replays.error());
  if (!options.plan.empty()) {
    const Status written = write_file(options.plan, plan_text(trace, replays->front().plan) + "\n");
    if (!written.ok()) return print_error(written.error());
  }
  if (!options.emit.empty()) {
    const Replay& first = replays->front();
    const Finding* finding = first.findings.empty() ? nullptr : first.findings.front();
    const Status written = write_file(options.emit, story_program(trace.path, first.plan, finding));
    return written.ok() ? kExitOk : print_error(written.error());
  }
  const Expected<Executor> executor = find_executor();
  if (!executor.ok()) return print_error(executor.error());
  put_first_in_path("PYTHONPATH", executor->modules.string());
  bool same = true;
  for (Replay& replay : *replays) {
    const ScratchFolder folder;
    if (folder.path().empty()) {
      return print_error({ErrorCode::kCannotRecord,
                          "no folder for the replay can be made among the temporary ones: set TMPDIR to another."});
    }
    const Expected<LoadedTrace> played = play(options, trace, replay.plan, *executor, folder.path());
    if (!played.ok()) return print_error(played.error());
    Expected<analyzer::ReplayFacts> facts = analyzer::facts_of_replay(played->analysis, replay.plan);
    if (!facts.ok()) return print_error(facts.error());
    replay.facts = std::move(*facts);
    if (!options.switches.empty()) continue;
    replay.difference = analyzer::first_difference(replay.plan.facts, replay.facts);
    same = same && !replay.difference;
  }
  const model::ReproduceView view = model::reproduce_view(trace.path, trace.analysis, *replays);
  if (options.json) {
    TracesDocument document("reproduce", std::cout);
    document.add(view);
    document.finish();
  } else {
    std::cout << reproduce_text(view, Style::of_stdout());
  }
  return same ? kExitOk : kExitFindings;
}

}  // namespace

void add_reproduce_command(Parser app, int& exit_code) {
  Parser command = app.add_subcommand("reproduce", "Play a recorded finding again in the reference executor");
  auto options = std::make_shared<ReproduceOptions>();
  command.add_option("TRACE", options->path, "A trace (*.dcmt), or a folder with one; last: the newest run")
      .capture_default_str();
  command.add_option("--rank", options->rank, "Of a folder with several: the trace of this rank");
  const Option finding = command.add_option("--finding", options->finding, "This one of the report; without it, all");
  command.add_option("--step", options->step, "This step, whether there are findings in it or not").excludes(finding);
  const Option switches =
      command
          .add_option(
              "--switch", options->switches,
              "What-if: a switch of the executor, on or off. release_clears_tensor_only=off: releases free the "
              "storage; wrapper_keeps_aliases=off: names go before the release; eager_gather_without_owner=off: "
              "what was never released is released at the end of its step; early_release_before_backward=off: "
              "releases come after the last read")
          .type_name("NAME[=off]")
          .check([](const std::string& text) { return check_switch(text); });
  command.add_option("-o,--output", options->plan, "Write the plan (docs/json.md); -: to standard output")
      .type_name("FILE");
  command
      .add_option("--emit", options->emit,
                  "Write one program of at most 100 lines that shows the story with torch alone, and play nothing")
      .type_name("FILE")
      .excludes(switches);
  command.add_option("--python", options->python, "Interpreter with torch; without it, python3 of PATH")
      .type_name("PROGRAM");
  command.add_flag("--json", options->json, "Machine-readable output (docs/json.md)");
  command.footer(
      "Examples:\n"
      "  dc-memtrace reproduce out/                                          every finding\n"
      "  dc-memtrace reproduce out/ --finding 1 -o plan.json                 one, and what is played\n"
      "  dc-memtrace reproduce out/ --switch release_clears_tensor_only=off  the same with the fix\n"
      "  dc-memtrace reproduce out/ --emit story.py && python story.py       to send to a colleague\n"
      "Exit codes: 0 reproduced, 1 not: the first difference is printed, 2 usage, 3 bad input, 4 cannot be played "
      "here,\n5 a finding that is of no parameter");
  command.callback([options, &exit_code] { exit_code = reproduce(*options); });
}

}  // namespace dcmt::cli
