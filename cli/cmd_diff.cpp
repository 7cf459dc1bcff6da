// dc-memtrace diff: differences between runs.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/compare/difference.h"
#include "cli/commands.h"
#include "cli/diff_text.h"
#include "cli/inputs.h"
#include "cli/json_writer.h"
#include "cli/parser.h"
#include "trace/base/printable.h"

namespace dcmt::cli {
namespace {

struct DiffOptions {
  std::vector<std::string> runs;
  bool json = false;
};

/// "before=out/" gives a run a label. An existing path that contains "=" is a path.
std::pair<std::string, std::string> label_and_path(const std::string& word) {
  const std::size_t equals = word.find('=');
  std::error_code ignored;
  if (equals == std::string::npos || equals == 0 || equals + 1 == word.size() || std::filesystem::exists(word, ignored))
    return {printable(word), word};
  return {printable(word.substr(0, equals)), word.substr(equals + 1)};
}

/// The reason why nothing was compared.
std::string nothing_in_common(const std::vector<analyzer::LoneRanks>& lone) {
  std::vector<std::string> each;
  for (const analyzer::LoneRanks& ranks : lone) {
    if (std::ranges::count(each, lone_ranks_name(ranks)) == 0) each.push_back(lone_ranks_name(ranks));
  }
  return "the runs have no rank in common: " + joined(each, ", ") + ".";
}

int diff(const DiffOptions& options) {
  std::vector<analyzer::LabelledRun> runs;
  std::map<std::string, std::string> paths;
  for (const std::string& word : options.runs) {
    const auto [label, path] = label_and_path(word);
    if (const auto known = paths.try_emplace(label, path).first; known->second != path) {
      return print_error({ErrorCode::kUsage, "two runs are called " + label + ": give each a name of its own."});
    }
    Expected<std::vector<OpenedTrace>> opened = open_traces({path}, std::nullopt);
    if (!opened.ok()) return print_error(opened.error());
    analyzer::LabelledRun& run = runs.emplace_back();
    run.label = label;
    for (OpenedTrace& each : *opened) {
      Expected<LoadedTrace> trace = load_trace(std::move(each));
      if (!trace.ok()) return print_error(trace.error());
      run.ranks.push_back(analyzer::memory_facts(trace->path, trace->analysis));
      analyzer::add_lives_and_graphs(trace->analysis, run.ranks.back());
      for (const std::string& why : run.ranks.back().unfit)
        print_note(trace->path + ": " + why + ": differences may come from that.");
    }
  }
  const analyzer::RunsDifference differences = analyzer::differences_of(std::move(runs));
  if (differences.differences.empty()) {
    return print_error({ErrorCode::kNotComparable, nothing_in_common(differences.lone_ranks)});
  }
  if (options.json) {
    std::cout << JsonDocument("diff").with(differences);
  } else {
    std::cout << diff_text(differences, Style::of_stdout());
  }
  return kExitOk;
}

}  // namespace

void add_diff_command(Parser app, int& exit_code) {
  Parser command = app.add_subcommand(
      "diff", "What differs between runs: operators, peaks by phase and line, findings, lifetimes, the graph");
  auto options = std::make_shared<DiffOptions>();
  command.add_option("RUN", options->runs, "Traces (*.dcmt), or folders of a run's ranks; LABEL=PATH gives a name")
      .expected(1, 1000);
  command.add_flag("--json", options->json, "Machine-readable output (docs/json.md)");
  command.footer(
      "The first run is what the others are compared with, rank by rank. A rank that only one of them has is named "
      "and\n"
      "compared with nothing. Lifetimes are counted by the phases and steps whose ends blocks outlive; the graph is "
      "what\n"
      "autograd had saved for backward at the peak that differs most.\n\n"
      "Examples:\n"
      "  dc-memtrace diff out-old/ out-new/\n"
      "  dc-memtrace diff 2.10=a/ 2.11=b/ fixed=c/     one table, and what explains each difference\n"
      "  dc-memtrace diff --json old.dcmt new.dcmt     for a script\n"
      "Exit codes: 0 compared, whether they differ or not, 2 usage, 3 bad input, 5 no rank in common");
  command.callback([options, &exit_code] {
    if (options->runs.size() < 2) throw UsageError{"two runs are required, as in: dc-memtrace diff out-old/ last"};
    exit_code = diff(*options);
  });
}

}  // namespace dcmt::cli
