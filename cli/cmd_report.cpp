#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/report.h"
#include "analyzer/ranks/ranks_alike.h"
#include "analyzer/ranks/ranks_of_run.h"
#include "cli/commands.h"
#include "cli/default_folder.h"
#include "cli/html_page.h"
#include "cli/inputs.h"
#include "cli/json_writer.h"
#include "cli/new_file.h"
#include "cli/parser.h"
#include "cli/rank_summaries.h"
#include "cli/ranks_text.h"
#include "cli/report_text.h"
#include "trace/base/printable.h"
#include "trace/base/shell_words.h"

namespace dcmt::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> paths = {kLastRun};
  std::string device, html;
  bool json = false, force = false, bytes = false;
  bool fail_on_findings = false;
};

Status write_page(const HtmlPage& page, const std::string& run_text, const ReportOptions& options) {
  NewFile file(options.html);
  DCMT_RETURN_IF_ERROR(file.check(options.force));
  std::ofstream out(file.part(), std::ios::binary);
  out << page.page(run_text);
  if (!out.flush()) return {ErrorCode::kIo, printable(options.html) + ": cannot be written."};
  out.close();
  return file.keep();
}

/// The report of many ranks: their differences, and the reports of some ranks that stand for the others. Fails if the
/// traces are not of many ranks of one run.
Expected<std::string> report_of_many(std::vector<OpenedTrace> opened, const Style& style, bool& found) {
  analyzer::RanksOfRun ranks;
  std::set<std::string> with_findings;
  for (OpenedTrace& trace : opened) {
    DCMT_ASSIGN_OR_RETURN(analyzer::RankSummary summary, load_summary(std::move(trace)));
    if (summary.found) with_findings.insert(summary.facts.path);
    ranks.add(std::move(summary));
  }
  opened.clear();
  const std::string processes = processes_text(ranks, style);
  const std::string folders = ranks.folders();
  DCMT_ASSIGN_OR_RETURN(const analyzer::RankComparison comparison, std::move(ranks).compare());
  if (comparison.ranks.size() <= kMostInFull) return Error{ErrorCode::kNotComparable, "not many ranks."};
  found = !with_findings.empty();
  const std::vector<analyzer::AlikeRanks> groups = analyzer::ranks_alike(comparison);
  ReportText text(true, style);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const bool usual = i + 1 == groups.size();
    if (i + 1 >= kMostInFull && !usual) continue;
    DCMT_ASSIGN_OR_RETURN(std::vector<OpenedTrace> first, open_traces({groups[i].path}, std::nullopt));
    DCMT_ASSIGN_OR_RETURN(const LoadedTrace trace, load_trace(std::move(first.front())));
    text.add(model::report_of(trace.path, trace.analysis), alike_text(groups[i]));
  }
  std::string others;  // processes without a rank, such as workers
  for (const std::string& path : comparison.left_out) {
    if (with_findings.contains(path)) {
      others += fmt::format("a process that is left out has a finding: dc-memtrace report {}\n", shell_word(path));
    }
  }
  return many_ranks_text(comparison, groups, style) + others + "\n" + text.text() + processes +
         fmt::format("the ranks side by side: dc-memtrace show ranks {}\n", folders) + text.next_line();
}

int report(const ReportOptions& options) {
  if (!options.html.empty()) {  // before the long work
    const Status free = NewFile(options.html).check(options.force);
    if (!free.ok()) return print_error(free.error());
  }
  Expected<std::vector<OpenedTrace>> opened = open_traces(options.paths, std::nullopt);
  if (!opened.ok()) return print_error(opened.error());
  const Style style = Style::of_stdout(options.bytes);
  bool found = false;
  if (opened->size() > kMostInFull && !options.json && options.html.empty() && options.device.empty()) {
    const Expected<std::string> text = report_of_many(std::move(*opened), style, found);
    if (text.ok()) {
      std::cout << folded(*text, style);
      return found && options.fail_on_findings ? kExitFindings : kExitOk;
    }
    if (text.error().code != ErrorCode::kNotComparable) return print_error(text.error());
    opened = open_traces(options.paths, std::nullopt);
    if (!opened.ok()) return print_error(opened.error());
  }
  std::optional<TracesDocument> json;
  if (options.json) json.emplace("report", std::cout);
  const bool several = opened->size() > 1;
  ReportText text(several, style);
  HtmlPage page;
  const Style exact{false, options.bytes, 0};  // for the page, which has no terminal width
  analyzer::RanksOfRun ranks;
  for (OpenedTrace& each : *opened) {
    Expected<LoadedTrace> trace = load_trace(std::move(each));
    if (!trace.ok()) return print_error(trace.error());
    if (const Status kept = keep_device(*trace, options.device); !kept.ok()) return print_error(kept.error());
    const model::Report report = model::report_of(trace->path, trace->analysis);
    found = found || report.found();
    if (!options.html.empty()) {
      ReportText alone(false, exact);
      alone.add(report);
      if (const Status added = page.add(*trace, alone.text() + alone.next_line()); !added.ok())
        return print_error(added.error());
    } else if (json) {
      json->add(report);
    } else {
      text.add(report);
    }
    if (several && !json) ranks.add(analyzer::rank_summary(trace->analysis));
  }
  if (!options.html.empty()) {
    const Status written = write_page(page, run_text(ranks, exact), options);
    if (!written.ok()) return print_error(written.error());
  } else if (json) {
    json->finish();
  } else {
    std::cout << folded(text.text() + run_text(ranks, style) + text.next_line(), style);
  }
  return found && options.fail_on_findings ? kExitFindings : kExitOk;
}

}  // namespace

void add_report_command(Parser app, int& exit_code) {
  Parser command =
      app.add_subcommand("report", "What is wrong with a run's memory, who holds it, and the peak without it");
  auto options = std::make_shared<ReportOptions>();
  command.add_option("PATH", options->paths, "Traces (*.dcmt), or folders of them; last: the newest run")
      .capture_default_str();
  command.add_option("--device", options->device,
                     "Only what is of this device: cpu, cuda:1, or cuda for the first GPU; without it, all");
  const Option json = command.add_flag("--json", options->json, "Machine-readable output (docs/json.md)");
  command
      .add_option("--html", options->html,
                  "Write one page to pass on: the timeline, what is alive at the peak, and the report")
      .excludes(json);
  command.add_flag("--bytes", options->bytes, kBytesHelp);
  command.add_flag("--force", options->force, "Of --html: replace the file if it is there");
  command.add_flag("--fail-on-findings", options->fail_on_findings,
                   "Exit with 1 if there is a finding about the training");
  command.footer(
      "Examples:\n"
      "  dc-memtrace report last                      the newest run below this folder\n"
      "  dc-memtrace report out/                      every rank of a run\n"
      "  dc-memtrace report out/ --device cpu         what is of one device\n"
      "  dc-memtrace report out/rank0.dcmt --json     for a script\n"
      "  dc-memtrace report out/ --html report.html   a page for an issue\n"
      "  dc-memtrace report --fail-on-findings out/   in a test");
  command.callback([options, &exit_code] { exit_code = report(*options); });
}

}  // namespace dcmt::cli
