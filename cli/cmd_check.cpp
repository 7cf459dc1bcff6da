// dc-memtrace check: a run against the baseline of its workload, a gate for CI.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "analyzer/gate/day.h"
#include "analyzer/gate/judge.h"
#include "cli/baseline_files.h"
#include "cli/check_reports.h"
#include "cli/check_text.h"
#include "cli/commands.h"
#include "cli/gate.h"
#include "cli/json_writer.h"
#include "cli/new_file.h"
#include "cli/parser.h"

namespace dcmt::cli {
namespace {

constexpr char kExamples[] =
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

struct CheckOptions {
  GateOptions gate;
  std::string baseline, junit, sarif, summary, version;
  bool json = false, github = false;
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

/// True if the CI job runs on the main branch.
bool is_main_branch() {
  const std::string ref = variable("GITHUB_REF");
  if (ref == "refs/heads/main" || ref == "refs/heads/master") return true;
  const std::string branch = variable("CI_COMMIT_BRANCH");
  return !branch.empty() && branch == variable("CI_DEFAULT_BRANCH");
}

/// Writes the reports for CI.
Status write_reports(const CheckOptions& options, const std::vector<Checked>& checks) {
  if (!options.junit.empty()) DCMT_RETURN_IF_ERROR(write_new_file(options.junit, junit_text(checks)));
  if (!options.sarif.empty()) DCMT_RETURN_IF_ERROR(write_new_file(options.sarif, sarif_text(checks, options.version)));
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

/// Reports for CI say why a baseline was not compared.
Checked without_verdict(const Gate& gate, int code, double seconds) {
  Checked checked{{}, gate.advice(code), seconds};
  checked.verdict.baseline = gate.shown();
  checked.verdict.outcome = gate::Outcome::kUnfit;
  checked.verdict.reasons = {gate.why_none()};
  return checked;
}

int check(const CheckOptions& options) {
  for (const std::string& each : options.gate.require) {
    if (const Status readable = gate::check_requirement(each); !readable.ok()) return print_error(readable.error());
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(options.baseline, ignored) &&
      (!options.gate.command.empty() || !options.gate.paths.empty())) {
    return print_error(
        {ErrorCode::kUsage, options.baseline + " is a folder: its baselines have commands of their own."});
  }
  Expected<std::vector<std::string>> files = baselines_of(options.baseline);
  if (!files.ok()) return print_error(files.error());
  int worst = kExitOk;
  std::vector<Checked> checks;
  for (const std::string& file : *files) {
    Gate gate(options.gate, file);
    const auto began = std::chrono::steady_clock::now();
    const int code = options.gate.update ? gate.update() : gate.check();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    worst = std::max(worst, code);
    if (code == kExitStopped) return code;
    if (!gate.verdict()) {
      if (!gate.why_none().empty()) checks.push_back(without_verdict(gate, code, seconds));
      continue;
    }
    checks.push_back({*gate.verdict(), gate.advice(code), seconds});
    if (!options.json) std::cout << check_text(*gate.verdict(), gate.advice(code), Style::of_stdout());
  }
  if (options.gate.update) return worst;
  if (const Status written = write_reports(options, checks); !written.ok()) return print_error(written.error());
  if (options.json) {
    gate::Checks all;
    for (const Checked& each : checks) all.checks.push_back(each.verdict);
    std::cout << JsonDocument("check").with(all);
  }
  return worst;
}

}  // namespace

void add_check_command(Parser app, int& exit_code) {
  Parser command = app.add_subcommand("check", "Compare a run with the baseline of its workload, as a gate in CI");
  auto options = std::make_shared<CheckOptions>();
  options->gate.today = date_of_today();
  options->gate.on_main = is_main_branch();
  options->github = variable("GITHUB_ACTIONS") == "true";
  options->summary = variable("GITHUB_STEP_SUMMARY");
  options->version = app.version().substr(app.version().rfind(' ') + 1);
  command.add_option("PATH", options->gate.paths, "Traces (*.dcmt) of one run, or folders of them");
  command.add_option("--baseline", options->baseline, "The baseline's file, or a folder of them")
      .type_name("FILE")
      .required();
  const Option update =
      command.add_flag("--update", options->gate.update, "Write the baseline from what is recorded now");
  command
      .add_flag("--new-anchors", options->gate.new_anchors,
                "With --update: count what all updates come to from today on")
      .needs(update);
  command
      .add_option(
          "--recordings", options->gate.recordings,
          "How often --update records a command (three times as often where recordings differ), and how many "
          "recordings have to fail before a check does (twice as many less one where only facts with a tolerance fail)")
      .range(1, 20)
      .capture_default_str();
  command
      .add_flag("--strict", options->gate.strict,
                "Fail on fewer bytes than the baseline has, too, so that a gain is committed")
      .excludes(update);
  command
      .add_option("--tolerance", options->gate.tolerance,
                  "What bytes may exceed the baseline by, as 1% or 64KiB, where that is more than the recordings "
                  "differed by; --update writes it into the baseline")
      .type_name("BYTES")
      .check([](const std::string& text) {
        return gate::Allowance::named(text) ? "" : text + " is neither a share, as 1%, nor bytes, as 64KiB";
      });
  command
      .add_option("--require", options->gate.require,
                  "Fail unless this ran, as 'gathers.eager > 0'; --update writes it into the baseline")
      .type_name("FACT")
      .one_at_a_time();
  command
      .add_option_function<std::string>(
          "--on-not-comparable",
          [options](const std::string& what) { options->gate.not_comparable_fails = what == "fail"; },
          "What to do about another workload, device or torch than the baseline's: fail (exit 5) or warn (exit 0)")
      .one_of({"fail", "warn"})
      .default_str("fail");
  command.add_flag(
      "--main", options->gate.on_main,
      "This is the main branch: what the baseline expects until a day fails after it. GitHub and GitLab say so "
      "themselves");
  command.add_option("--date", options->gate.today, "The day that counts as today, as 2026-11-25")
      .type_name("DATE")
      .check([](const std::string& date) { return gate::day_of(date) ? "" : date + " is no date; one is 2026-11-25"; });
  command
      .add_option("--workload", options->gate.workload,
                  "A name to compare in place of the program's arguments, where these may differ")
      .type_name("NAME");
  command
      .add_option("--operators", options->gate.operator_tables,
                  "Tables of your gather and release operators (TOML; docs/operators.md)")
      .one_at_a_time();
  command
      .add_option("--artifacts", options->gate.artifacts,
                  "Where a failed check leaves the new baseline and its traces; a command's are in dc-memtrace-check "
                  "without it")
      .type_name("FOLDER");
  command.add_option("--junit", options->junit, "Write JUnit XML").type_name("FILE").excludes(update);
  command.add_option("--sarif", options->sarif, "Write SARIF 2.1.0, with file and line")
      .type_name("FILE")
      .excludes(update);
  command.add_flag("--github", options->github,
                   "Mark lines of the source and write the job's summary; on in GitHub's jobs");
  command.add_flag("--json", options->json, "Machine-readable output (docs/json.md)").excludes(update);
  command.footer(kExamples);
  command.callback([options, &exit_code] {
    const std::vector<std::string>& words = words_from_dashes();
    if (!words.empty()) options->gate.command.assign(words.begin() + 1, words.end());
    if (!options->gate.command.empty() && !options->gate.paths.empty()) {
      throw UsageError{"name traces or a command, not both"};
    }
    options->gate.output_aside = options->json;
    exit_code = check(*options);
  });
}

}  // namespace dcmt::cli
