#include "cli/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <system_error>
#include <utility>

#include "cli/baseline_files.h"
#include "cli/commands.h"
#include "cli/gate_source.h"
#include "cli/new_file.h"
#include "trace/base/printable.h"
#include "trace/base/shell_words.h"

namespace dcmt::cli {

namespace fs = std::filesystem;
using gate::Baseline;
using gate::Outcome;
using gate::Recording;
using gate::Verdict;

namespace {

constexpr char kArtifacts[] = "dc-memtrace-check";

/// Lets git ignore the folder of artifacts, which lies in the user's working tree. A file that is there stays.
void ignore_in_git(const std::string& folder) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  const fs::path file = fs::path(folder) / ".gitignore";
  if (!fs::exists(file, ignored)) std::ofstream(file) << "*\n";
}

/// Removes the folder if nothing else is in it.
void drop_if_unused(const std::string& folder) {
  std::error_code ignored;
  const auto entries = std::distance(fs::directory_iterator(folder, ignored), fs::directory_iterator());
  if (entries == 1) fs::remove(fs::path(folder) / ".gitignore", ignored);
  fs::remove(folder, ignored);
}

/// The number of recordings that must fail. It is higher if all failed facts are known to vary between recordings.
int most_recordings(const Verdict& verdict, int recordings) {
  const bool noisy = std::ranges::all_of(
      verdict.facts, [](const gate::CheckedFact& fact) { return !fact.failed || fact.tolerance > 0; });
  return noisy ? 2 * recordings - 1 : recordings;
}

}  // namespace

Gate::Gate(const GateOptions& options, std::string path)
    : options_(options), path_(std::move(path)), shown_(printable(path_)) {}

int Gate::check() {
  Expected<Baseline> baseline = read_baseline(path_);
  if (!baseline.ok()) return fail(baseline.error());
  command_ = options_.command.empty() && options_.paths.empty() ? baseline->command : options_.command;
  rules_ = {options_.strict, options_.on_main, options_.require, options_.today,
            gate::Allowance::named(options_.tolerance).value_or(gate::Allowance())};
  std::vector<Recording> recordings;
  if (const int failed = record_into(recordings); failed != kExitOk) return failed;
  Expected<Verdict> judged = gate::judge(shown_, *baseline, recordings.front(), rules_);
  // A single failure may be noise; a failure in each of several recordings is not.
  while (judged.ok() && judged->outcome == Outcome::kFailed && judged->failed_facts() > 0 && !command_.empty() &&
         static_cast<int>(recordings.size()) < most_recordings(*judged, options_.recordings)) {
    if (const int failed = record_into(recordings); failed != kExitOk) return failed;
    if (!recordings.back().unfit.empty()) {
      recordings.pop_back();
      break;
    }
    if (static_cast<int>(recordings.size()) < options_.recordings) continue;
    judged = gate::judge(shown_, *baseline, gate::nearest_of(recordings, *baseline), rules_);
  }
  if (!judged.ok()) return fail(judged.error());
  verdict_ = std::move(*judged);
  verdict_->recordings = static_cast<std::int64_t>(recordings.size());
  const int code = exit_code();
  keep_artifacts(*baseline, recordings, code != kExitOk);
  return code;
}

int Gate::update() {
  Baseline baseline;
  std::error_code ignored;
  if (fs::exists(path_, ignored)) {
    Expected<Baseline> read = read_baseline(path_);
    if (!read.ok()) return print_error(read.error());
    baseline = std::move(*read);
  }
  command_ = options_.command.empty() && options_.paths.empty() ? baseline.command : options_.command;
  std::vector<Recording> recordings;
  if (const int failed = record_all(recordings); failed != kExitOk) return failed;
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
  // The accepted changes: a check against the previous baseline, or, without one, against the new baseline.
  const Recording middle = gate::middle_of(recordings);
  const Baseline before = baseline;
  gate::update(baseline, recordings, options_.today, options_.new_anchors);
  if (const std::optional<gate::Allowance> allowance = gate::Allowance::named(options_.tolerance)) {
    for (gate::Section& section : baseline.sections) {
      if (section.name == middle.section) gate::allow(section, *allowance);
    }
  }
  const bool known = before.section(middle.section) != nullptr && !options_.new_anchors;
  Expected<Verdict> accepted = gate::judge(shown_, known ? before : baseline, middle, rules_);
  if (!accepted.ok()) return print_error(accepted.error());
  if (const Status written = write_new_file(path_, gate::baseline_text(baseline)); !written.ok()) {
    return print_error(written.error());
  }
  std::cout << updated_text(*accepted, Style::of_stdout());
  drop_traces();
  return kExitOk;
}

CheckAdvice Gate::advice(int code) const {
  std::vector<std::string> words{"--baseline", path_};
  const auto add = [&words](const char* option, const std::vector<std::string>& values) {
    for (const std::string& value : values) words.insert(words.end(), {option, value});
  };
  if (!options_.workload.empty()) add("--workload", {options_.workload});
  add("--operators", options_.operator_tables);
  add("--require", options_.require);
  if (!options_.tolerance.empty()) add("--tolerance", {options_.tolerance});
  const std::string what = command_.empty() ? shell_words(options_.paths) : "-- " + shell_words(command_);
  CheckAdvice advice;
  advice.redo = printable("dc-memtrace check " + shell_words(words) + (options_.strict ? " --strict " : " ") + what);
  // With --update, each of several paths would be a separate recording.
  if (!command_.empty() || options_.paths.size() == 1) {
    advice.update = printable("dc-memtrace check --update " + shell_words(words) + " " + what);
  }
  advice.exit_code = code;
  return advice;
}

int Gate::exit_code() const {
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

int Gate::fail(const Error& error) {
  why_none_ = error.message;
  return print_error(error);
}

int Gate::no_verdict(const std::vector<std::string>& why) const {
  std::string all;
  for (const std::string& each : why) all += (all.empty() ? "" : "; ") + each;
  print_note(path_ + ": no conclusion from this recording: " + all + ".");
  return kExitNoVerdict;
}

std::string Gate::artifacts() const { return options_.artifacts.empty() ? kArtifacts : options_.artifacts; }

std::string Gate::folder_of(std::size_t number) const {
  return (fs::path(artifacts()) / (fs::path(path_).stem().string() + "-" + std::to_string(number))).string();
}

void Gate::add(std::vector<Recording>& recordings, Recording recording) const {
  if (!options_.workload.empty()) recording.arguments = printable(options_.workload);
  recordings.push_back(std::move(recording));
}

int Gate::record_into(std::vector<Recording>& recordings) {
  if (command_.empty()) {
    if (options_.paths.empty()) {
      return print_error({ErrorCode::kUsage, path_ + " has no command: name traces, or a command after --."});
    }
    std::vector<std::string> paths = options_.paths;
    if (options_.update) paths = {options_.paths[recordings.size()]};
    Expected<Recording> read = read_recording(paths);
    if (!read.ok()) return fail(read.error());
    add(recordings, std::move(*read));
    return kExitOk;
  }
  for (const bool last : {false, true}) {
    const GateCommand command{command_, options_.operator_tables, options_.output_aside};
    if (options_.artifacts.empty()) ignore_in_git(kArtifacts);
    Expected<Recorded> recorded = record(command, folder_of(recordings.size() + 1));
    if (!recorded.ok()) return fail(recorded.error());
    if (recorded->job_exit == kExitStopped) {
      print_note(path_ + ": stopped, so nothing was compared.");
      return kExitStopped;
    }
    if (recorded->job_exit != 0) {
      why_none_ = fmt::format("the command failed (exit {}), so nothing was compared: {}", recorded->job_exit,
                              recorded->why.empty() ? shell_words(command_) : recorded->why);
      print_note(path_ + ": " + why_none_);
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
}

int Gate::record_all(std::vector<Recording>& recordings) {
  const int wanted = std::max(1, command_.empty() ? static_cast<int>(options_.paths.size()) : options_.recordings);
  // If the recordings differ, twice as many more show how much.
  const auto enough = [&] {
    const int number = static_cast<int>(recordings.size());
    return number == 3 * wanted || (number == wanted && (command_.empty() || !gate::differ(recordings)));
  };
  while (!enough()) {
    if (const int failed = record_into(recordings); failed != kExitOk) return failed;
    if (!recordings.back().unfit.empty()) return no_verdict(recordings.back().unfit);
    if (recordings.back().section != recordings.front().section) {
      return print_error({ErrorCode::kNotComparable, path_ + ": the recordings are of " + recordings.front().section +
                                                         " and of " + recordings.back().section + "."});
    }
  }
  return kExitOk;
}

void Gate::keep_artifacts(Baseline& baseline, const std::vector<Recording>& recordings, bool failed) {
  if (!failed) return drop_traces();
  if (command_.empty() && options_.artifacts.empty()) return;
  if (verdict_->outcome == Outcome::kUnfit) return;
  gate::update(baseline, recordings, options_.today, false);
  const std::string file = (fs::path(artifacts()) / fs::path(path_).filename()).string();
  if (const Status written = write_new_file(file, gate::baseline_text(baseline)); !written.ok()) {
    print_error(written.error());
    return;
  }
  print_note(file + " is the baseline that accepts this run" +
             (command_.empty() ? "." : "; the traces are beside it."));
}

void Gate::drop_traces() const {
  if (command_.empty()) return;
  for (int i = 1; i <= 3 * options_.recordings; ++i) drop_recording(folder_of(static_cast<std::size_t>(i)));
  if (options_.artifacts.empty()) return drop_if_unused(kArtifacts);
  std::error_code ignored;
  fs::remove(artifacts(), ignored);  // succeeds only if the folder is empty
}

}  // namespace dcmt::cli
