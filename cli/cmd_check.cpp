// dc-memtrace check: a run against the baseline of its workload, a gate for CI.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/gate/day.h"
#include "analyzer/gate/judge.h"
#include "cli/check_reports.h"
#include "cli/check_text.h"
#include "cli/commands.h"
#include "cli/gate_source.h"
#include "cli/inputs.h"
#include "cli/json_writer.h"
#include "cli/new_file.h"
#include "trace/base/printable.h"
#include "trace/base/shell_words.h"

namespace dcmt::cli {
namespace {

namespace fs = std::filesystem;
using gate::Baseline;
using gate::Outcome;
using gate::Recording;
using gate::Verdict;

constexpr char kFooter[] =
    "PATH are the traces of one run: files or folders of them. With --update each PATH is a recording of its own.\n"
    "A command follows the options, after --. It is recorded and compared in one; of a baseline that was recorded so,\n"
    "the command is known and need not be said again.\n\n"
    "Examples:\n"
    "  dc-memtrace check --update --baseline memory/gpt.json -- python train.py   make the baseline, or accept what "
    "is\n"
    "  dc-memtrace check --baseline memory/gpt.json -- python train.py            in CI\n"
    "  dc-memtrace check --baseline memory/                                       all baselines of a folder\n"
    "  dc-memtrace check --update --baseline memory/                              rewrite all, after torch was "
    "upgraded\n"
    "  dc-memtrace check --baseline memory/gpt.json out/                          traces that are there\n"
    "  dc-memtrace check --baseline memory/gpt.json --require 'gathers.eager > 0' out/\n"
    "Exit codes: 0 passed, 1 failed, 2 usage, 3 bad input, 4 cannot record, 5 not comparable, 6 no verdict: the\n"
    "recording has losses or none was made, 7 the command failed; of several baselines the highest. See docs/check.md.";

constexpr char kArtifacts[] = "dc-memtrace-check";

struct Options {
  std::string baseline;
  std::vector<std::string> paths, require, operator_tables, command;
  bool update = false, new_anchors = false, strict = false, on_main = false, json = false;
  bool not_comparable_fails = true;
  int recordings = 3;
  std::string workload;  ///< in place of the program's arguments
  std::string today, junit, sarif, summary, version;
  bool github = false;
  std::string artifacts;  ///< empty: of a command, kArtifacts; of traces, none
};

std::string date_of_today() {
  const auto now = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  const std::chrono::year_month_day day(now);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(day.year()), static_cast<unsigned>(day.month()),
                     static_cast<unsigned>(day.day()));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// The CI job is of the branch that others start from.
bool is_main_branch() {
  const std::string ref = variable("GITHUB_REF");
  if (ref == "refs/heads/main" || ref == "refs/heads/master") return true;
  const std::string branch = variable("CI_COMMIT_BRANCH");
  return !branch.empty() && branch == variable("CI_DEFAULT_BRANCH");
}

Expected<Baseline> read_baseline(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file && errno != ENOENT) {
    return Error{ErrorCode::kBadInput, path + ": cannot be read: " + std::strerror(errno) + "."};
  }
  if (!file) {
    return Error{ErrorCode::kBadInput,
                 path + ": there is no such baseline. Make it: dc-memtrace check --update --baseline " +
                     shell_word(path) + " -- <command>"};
  }
  std::ostringstream text;
  text << file.rdbuf();
  return gate::parse_baseline(path, text.str());
}

/// Whole or not at all.
Status write_file(const std::string& path, const std::string& text) {
  std::error_code ignored;  // what cannot be made is said below
  if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) fs::create_directories(folder, ignored);
  NewFile file(path);
  DCMT_RETURN_IF_ERROR(file.check(true));
  std::ofstream out(file.part(), std::ios::binary);
  out << text;
  out.close();
  if (!out) return {ErrorCode::kIo, path + ": cannot be written: is the disk full?"};
  return file.keep();
}

/// One baseline: its recordings, and what becomes of them.
class Gate {
 public:
  Gate(const Options& options, std::string path)
      : options_(options), path_(std::move(path)), shown_(printable(path_)) {}

  /// Leaves a verdict, or prints why there is none. Returns the exit code.
  int check() {
    Expected<Baseline> baseline = read_baseline(path_);
    if (!baseline.ok()) return print_error(baseline.error());
    command_ = options_.command.empty() && options_.paths.empty() ? baseline->command : options_.command;
    rules_ = {options_.strict, options_.on_main, options_.require, options_.today};
    std::vector<Recording> recordings;
    if (const int failed = record_into(recordings); failed != kExitOk) return failed;
    Expected<Verdict> judged = gate::judge(shown_, *baseline, recordings.front(), rules_);
    // What fails once may be noise; what fails in each of several recordings is not.
    while (judged.ok() && judged->outcome == Outcome::kFailed && judged->failed_facts() > 0 && !command_.empty() &&
           static_cast<int>(recordings.size()) < options_.recordings) {
      if (const int failed = record_into(recordings); failed != kExitOk) return failed;
      if (!recordings.back().unfit.empty()) {
        recordings.pop_back();
        break;
      }
      if (static_cast<int>(recordings.size()) < options_.recordings) continue;
      judged = gate::judge(shown_, *baseline, gate::nearest_of(recordings, *baseline), rules_);
    }
    if (!judged.ok()) return print_error(judged.error());
    verdict_ = std::move(*judged);
    verdict_->recordings = static_cast<std::int64_t>(recordings.size());
    const int code = exit_code();
    keep_artifacts(*baseline, recordings, code != kExitOk);
    return code;
  }

  /// Writes the baseline anew. Returns the exit code.
  int update() {
    Baseline baseline;
    std::error_code ignored;
    if (fs::exists(path_, ignored)) {
      Expected<Baseline> read = read_baseline(path_);
      if (!read.ok()) return print_error(read.error());
      baseline = std::move(*read);
    }
    command_ = options_.command.empty() && options_.paths.empty() ? baseline.command : options_.command;
    std::vector<Recording> recordings;
    const int wanted = std::max(1, command_.empty() ? static_cast<int>(options_.paths.size()) : options_.recordings);
    // Where they differ, as many more say how much.
    const auto enough = [&] {
      const int number = static_cast<int>(recordings.size());
      return number == 2 * wanted || (number == wanted && (command_.empty() || !gate::differ(recordings)));
    };
    while (!enough()) {
      if (const int failed = record_into(recordings); failed != kExitOk) return failed;
      if (!recordings.back().unfit.empty()) return no_verdict(recordings.back().unfit);
      if (recordings.back().section != recordings.front().section) {
        return print_error({ErrorCode::kNotComparable, path_ + ": the recordings are of " + recordings.front().section +
                                                           " and of " + recordings.back().section + "."});
      }
    }
    for (const std::string& each : options_.require) {
      if (std::ranges::count(baseline.require, each) == 0) baseline.require.push_back(each);
    }
    Expected<std::vector<std::string>> lacking = gate::unmet(baseline.require, recordings.back());
    if (!lacking.ok()) return print_error(lacking.error());
    if (!lacking->empty()) {
      print_error({ErrorCode::kBadInput, path_ + " is not written: " + lacking->front() + "."});
      return kExitFindings;
    }
    if (!command_.empty()) baseline.command = command_;
    // What this accepts: a check against the baseline that is there, or, without one, against what is written.
    const Recording middle = gate::middle_of(recordings);
    const Baseline before = baseline;
    gate::update(baseline, recordings, options_.today, options_.new_anchors);
    const bool known = before.section(middle.section) != nullptr && !options_.new_anchors;
    Expected<Verdict> accepted = gate::judge(shown_, known ? before : baseline, middle, rules_);
    if (!accepted.ok()) return print_error(accepted.error());
    if (const Status written = write_file(path_, gate::baseline_text(baseline)); !written.ok()) {
      return print_error(written.error());
    }
    std::cout << updated_text(*accepted, Style::of_stdout());
    drop_traces();
    return kExitOk;
  }

  [[nodiscard]] const std::optional<Verdict>& verdict() const { return verdict_; }

  [[nodiscard]] CheckAdvice advice(int code) const {
    std::vector<std::string> words{"--baseline", path_};
    const auto add = [&words](const char* option, const std::vector<std::string>& values) {
      for (const std::string& value : values) words.insert(words.end(), {option, value});
    };
    if (!options_.workload.empty()) add("--workload", {options_.workload});
    add("--operators", options_.operator_tables);
    add("--require", options_.require);
    const std::string what = command_.empty() ? shell_words(options_.paths) : "-- " + shell_words(command_);
    CheckAdvice advice;
    advice.redo = printable("dc-memtrace check " + shell_words(words) + (options_.strict ? " --strict " : " ") + what);
    // With --update each of several paths would be a recording of its own.
    if (!command_.empty() || options_.paths.size() == 1) {
      advice.update = printable("dc-memtrace check --update " + shell_words(words) + " " + what);
    }
    advice.exit_code = code;
    return advice;
  }

 private:
  int exit_code() const {
    switch (verdict_->outcome) {
      case Outcome::kPassed:
        return kExitOk;
      case Outcome::kFailed:
        return kExitFindings;
      case Outcome::kNotComparable:
        return options_.not_comparable_fails ? kExitNotComparable : kExitOk;
      case Outcome::kUnfit:
        return kExitNoVerdict;
    }
    return kExitNoVerdict;
  }

  int no_verdict(const std::vector<std::string>& why) const {
    std::string all;
    for (const std::string& each : why) all += (all.empty() ? "" : "; ") + each;
    print_note(path_ + ": no conclusion from this recording: " + all + ".");
    return kExitNoVerdict;
  }

  [[nodiscard]] fs::path artifacts() const { return options_.artifacts.empty() ? kArtifacts : options_.artifacts; }
  [[nodiscard]] std::string folder_of(std::size_t number) const {
    return (artifacts() / (fs::path(path_).stem().string() + "-" + std::to_string(number))).string();
  }

  void add(std::vector<Recording>& recordings, Recording recording) const {
    if (!options_.workload.empty()) recording.arguments = printable(options_.workload);
    recordings.push_back(std::move(recording));
  }

  /// Adds one recording: of the next path where each is one, of all paths, or of the command. A recording of a command
  /// that allows no conclusion is made again, once.
  int record_into(std::vector<Recording>& recordings) {
    if (command_.empty()) {
      if (options_.paths.empty()) {
        return print_error({ErrorCode::kUsage, path_ + " has no command: name traces, or a command after --."});
      }
      std::vector<std::string> paths = options_.paths;
      if (options_.update) paths = {options_.paths[recordings.size()]};
      Expected<Recording> read = read_recording(paths);
      if (!read.ok()) return print_error(read.error());
      add(recordings, std::move(*read));
      return kExitOk;
    }
#ifdef DCMT_HAVE_RUN
    for (const bool last : {false, true}) {
      const GateCommand command{command_, options_.operator_tables, options_.json};
      Expected<Recorded> recorded = record(command, folder_of(recordings.size() + 1));
      if (!recorded.ok()) return print_error(recorded.error());
      if (recorded->job_exit == kExitStopped) {
        print_note(path_ + ": stopped, so nothing was compared.");
        return kExitStopped;
      }
      if (recorded->job_exit != 0) {
        print_note(fmt::format("{}: the command failed (exit {}), so nothing was compared: {}", path_,
                               recorded->job_exit, recorded->why.empty() ? shell_words(command_) : recorded->why));
        return kExitCommandFailed;
      }
      if (!last && !recorded->recording.unfit.empty()) {
        print_note(recorded->recording.unfit.front() + ". It is recorded once more.");
        continue;
      }
      add(recordings, std::move(recorded->recording));
      break;
    }
    return kExitOk;
#else
    return print_error({ErrorCode::kCannotRecord, "this build does not record: name traces."});
#endif
  }

  /// Of a check that did not pass: its traces, and the baseline that would accept them.
  void keep_artifacts(Baseline& baseline, const std::vector<Recording>& recordings, bool failed) {
    if (!failed) return drop_traces();
    if (command_.empty() && options_.artifacts.empty()) return;
    if (verdict_->outcome == Outcome::kUnfit) return;
    gate::update(baseline, recordings, options_.today, false);
    const std::string file = (artifacts() / fs::path(path_).filename()).string();
    if (const Status written = write_file(file, gate::baseline_text(baseline)); !written.ok()) {
      print_error(written.error());
      return;
    }
    print_note(file + " is the baseline that accepts this run" +
               (command_.empty() ? "." : "; the traces are beside it."));
  }

  void drop_traces() const {
#ifdef DCMT_HAVE_RUN
    if (command_.empty()) return;
    for (int i = 1; i <= 2 * options_.recordings; ++i) drop_recording(folder_of(static_cast<std::size_t>(i)));
    std::error_code ignored;
    fs::remove(artifacts(), ignored);  // if nothing is in it
#endif
  }

  const Options& options_;
  std::string path_, shown_;  ///< of the baseline; as it is printed
  std::vector<std::string> command_;
  gate::Rules rules_;
  std::optional<Verdict> verdict_;
};

Expected<std::vector<std::string>> baselines_of(const Options& options) {
  std::error_code error;
  if (!fs::is_directory(options.baseline, error)) return std::vector<std::string>{options.baseline};
  if (!options.command.empty() || !options.paths.empty()) {
    return Error{ErrorCode::kUsage, options.baseline + " is a folder: its baselines have commands of their own."};
  }
  std::vector<std::string> files;
  for (fs::directory_iterator at(options.baseline, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".json") files.push_back(at->path().string());
  }
  if (files.empty()) return Error{ErrorCode::kBadInput, options.baseline + ": no baseline (*.json) in this folder."};
  std::ranges::sort(files);
  return files;
}

/// The files and marks for CI.
Status write_reports(const Options& options, const std::vector<Checked>& checks) {
  if (!options.junit.empty()) DCMT_RETURN_IF_ERROR(write_file(options.junit, junit_text(checks)));
  if (!options.sarif.empty()) DCMT_RETURN_IF_ERROR(write_file(options.sarif, sarif_text(checks, options.version)));
  if (!options.github) return {};
  (options.json ? std::cerr : std::cout) << github_text(checks);
  if (!options.summary.empty()) {
    std::ofstream file(options.summary, std::ios::app);
    file << markdown_text(checks);
    file.close();
    if (!file) return {ErrorCode::kIo, options.summary + ": cannot be written."};
  }
  return {};
}

int check(const Options& options) {
  for (const std::string& each : options.require) {
    if (const Status readable = gate::check_requirement(each); !readable.ok()) return print_error(readable.error());
  }
  Expected<std::vector<std::string>> files = baselines_of(options);
  if (!files.ok()) return print_error(files.error());
  int worst = kExitOk;
  std::vector<Checked> checks;
  for (const std::string& file : *files) {
    Gate gate(options, file);
    const int code = options.update ? gate.update() : gate.check();
    worst = std::max(worst, code);
    if (code == kExitStopped) return code;
    if (!gate.verdict()) continue;
    checks.push_back({*gate.verdict(), gate.advice(code)});
    if (!options.json) std::cout << check_text(*gate.verdict(), gate.advice(code), Style::of_stdout());
  }
  if (options.update) return worst;
  if (const Status written = write_reports(options, checks); !written.ok()) return print_error(written.error());
  if (options.json) {
    gate::Checks all;
    for (const Checked& each : checks) all.checks.push_back(each.verdict);
    std::cout << JsonDocument("check").with(all);
  }
  return worst;
}

}  // namespace

void add_check_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("check", "Compare a run with the baseline of its workload, as a gate in CI");
  auto options = std::make_shared<Options>();
  options->today = date_of_today();
  options->on_main = is_main_branch();
  options->github = variable("GITHUB_ACTIONS") == "true";
  options->summary = variable("GITHUB_STEP_SUMMARY");
  options->version = app.version().substr(app.version().rfind(' ') + 1);
  command->add_option("PATH", options->paths, "Traces (*.dcmt) of one run, or folders of them");
  command->add_option("--baseline", options->baseline, "The baseline's file, or a folder of them")
      ->type_name("FILE")
      ->required();
  CLI::Option* update = command->add_flag("--update", options->update, "Write the baseline from what is recorded now");
  command
      ->add_flag("--new-anchors", options->new_anchors, "With --update: count what all updates come to from today on")
      ->needs(update);
  command
      ->add_option(
          "--recordings", options->recordings,
          "Of a command: recordings for --update (twice as many where they differ), and for a verdict where the first "
          "one fails")
      ->check(CLI::Range(1, 20))
      ->capture_default_str();
  command->add_flag("--strict", options->strict, "A gain that the baseline does not have fails, too")->excludes(update);
  command->add_option("--require", options->require, "What must have run, as 'gathers.eager > 0'")
      ->type_name("FACT")
      ->allow_extra_args(false);
  command
      ->add_option_function<std::string>(
          "--on-not-comparable", [options](const std::string& what) { options->not_comparable_fails = what == "fail"; },
          "Another workload, device or torch than the baseline's: fail (exit 5) or warn")
      ->check(CLI::IsMember({"fail", "warn"}))
      ->default_str("fail");
  command->add_flag("--main", options->on_main,
                    "Expected retentions past their day fail; set where CI says that this is the main branch");
  command->add_option("--date", options->today, "Instead of today's, as 2026-11-25")
      ->type_name("DATE")
      ->check(
          [](const std::string& date) { return gate::day_of(date) ? "" : date + " is no date; one is 2026-11-25"; });
  command
      ->add_option("--workload", options->workload,
                   "What this workload is called, in place of its program's arguments, where these may differ")
      ->type_name("NAME");
  command->add_option("--operators", options->operator_tables, "Tables of your gather and release operators (TOML)")
      ->allow_extra_args(false);
  command
      ->add_option("--artifacts", options->artifacts,
                   "Folder for the new baseline and the traces of a failed check; of a command dc-memtrace-check")
      ->type_name("FOLDER");
  command->add_option("--junit", options->junit, "Write JUnit XML")->type_name("FILE")->excludes(update);
  command->add_option("--sarif", options->sarif, "Write SARIF 2.1.0, with file and line")
      ->type_name("FILE")
      ->excludes(update);
  command->add_flag("--github", options->github,
                    "Mark lines of the source and write the job's summary; set where GITHUB_ACTIONS is true");
  command->add_flag("--json", options->json, "Machine-readable output (docs/json.md)")->excludes(update);
  command->footer(kFooter);
  command->callback([options, &exit_code] {
#ifdef DCMT_HAVE_RUN
    const std::vector<std::string>& words = words_from_dashes();
    if (!words.empty()) options->command.assign(words.begin() + 1, words.end());
    if (!options->command.empty() && !options->paths.empty()) {
      throw CLI::ParseError("name traces or a command, not both", CLI::ExitCodes::ExtrasError);
    }
#endif
    exit_code = check(*options);
  });
}

}  // namespace dcmt::cli
