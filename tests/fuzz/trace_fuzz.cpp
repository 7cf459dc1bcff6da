// Hands the readers of traces files that no recorder would leave: damaged pages, rows that make no sense, references to
// nothing, circles, tables that are missing. See harness.h for the command line. A trace may be refused with one line;
// otherwise everything that report and show print of it is printed.
#include <exception>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "analyzer/model/curve_view.h"
#include "analyzer/model/report.h"
#include "analyzer/model/views.h"
#include "cli/curve_text.h"
#include "cli/html_page.h"
#include "cli/inputs.h"
#include "cli/json_writer.h"
#include "cli/ranks_text.h"
#include "cli/report_text.h"
#include "cli/show_text.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/made_traces.h"
#include "tests/fuzz/random.h"

namespace {

using namespace dcmt;  // NOLINT(google-build-using-namespace)
using analyzer::GroupBy;
using fuzz::Outcome;
using fuzz::wrong;

void print_trace(const cli::LoadedTrace& trace, std::ostream& out) {
  const cli::Style style;
  const auto peak = model::peak_view(trace.path, trace.analysis);
  const auto releases = model::releases_view(trace.path, trace.analysis);
  out << cli::json_of(model::report_of(trace.path, trace.analysis)) << cli::json_of(peak) << cli::json_of(releases)
      << cli::releases_text(releases, style);
  for (const GroupBy by :
       {GroupBy::kSite, GroupBy::kOperator, GroupBy::kPhase, GroupBy::kKind, GroupBy::kOwner, GroupBy::kModule}) {
    out << cli::peak_text(peak, {by}, style);
    for (const char* at : {"end", "peak", "oom", "step:2", "here", "forward#2", "17"}) {
      const auto live = model::live_view(trace.path, trace.analysis, at, true);
      if (!live.ok()) continue;
      out << cli::live_text(*live, {by}, style);
      if (by == GroupBy::kSite) out << cli::json_of(*live);
    }
  }
  for (const analyzer::Storage& storage : trace.data->storages) {
    const auto view = model::storage_view(trace.path, trace.analysis, storage.id);
    if (view.ok()) out << cli::storage_text(*view, style) << cli::json_of(*view);
  }
}

/// False: refused with something else than one line.
bool print_curve(const std::string& path, fuzz::Random& random, std::ostream& out) {
  auto traces = cli::open_traces({path}, std::nullopt);
  if (!traces.ok()) return true;  // as report refuses it
  analyzer::CurveQuestion question{"", "", "", 1 + random.below(30)};
  if (random.chance(50)) question.from = random.chance(50) ? "step:2" : std::to_string(1 + random.below(60));
  const auto curve = analyzer::curve_overview(traces->front().database, question);
  if (!curve.ok()) return !curve.error().message.empty() && curve.error().message.find('\n') == std::string::npos;
  const model::CurveView view{path, 0, *curve};
  out << cli::curve_text(view, cli::Style{}) << cli::json_of(view);
  return true;
}

void print_ranks(const std::vector<cli::LoadedTrace>& traces, std::ostream& out) {
  std::vector<analyzer::RankFacts> ranks;
  for (const cli::LoadedTrace& trace : traces) {
    ranks.push_back(analyzer::rank_facts(trace.analysis));
    ranks.back().rank = static_cast<std::int64_t>(ranks.size());  // or most would be refused
    ranks.back().world_size = 4;
  }
  const auto comparison = analyzer::compare_ranks(std::move(ranks));
  if (comparison.ok()) {
    out << cli::ranks_text(*comparison, cli::Style{}) << cli::json_of(*comparison);
  }
}

Outcome run(std::uint64_t seed, const std::string& folder) {
  fuzz::Random random(seed);
  const auto [paths, pristine] = fuzz::make_traces(folder, random);
  if (paths.empty()) return wrong("no trace could be made");
  std::ostringstream out;
  if (!print_curve(paths.front(), random, out)) return wrong("the curve was not refused with one line");
  const auto traces = cli::load_traces(paths, std::nullopt);
  if (!traces.ok()) {
    const std::string& message = traces.error().message;
    if (pristine || message.empty() || message.find('\n') != std::string::npos) {
      return wrong("refused with: '" + message + "'");
    }
    return Outcome::kRefused;
  }
  cli::ReportText report(traces->size() > 1, cli::Style{});
  for (const cli::LoadedTrace& trace : *traces) report.add(model::report_of(trace.path, trace.analysis));
  out << report.text();
  print_ranks(*traces, out);
  for (const cli::LoadedTrace& trace : *traces) {
    print_trace(trace, out);
    cli::HtmlPage page;
    if (page.add(trace, "the report").ok()) out << page.page({});
  }
  return out.str().empty() ? wrong("nothing was printed") : Outcome::kDone;
}

}  // namespace

int main(int argc, char** argv) { return fuzz::fuzz_main(argc, argv, "shown", run); }
