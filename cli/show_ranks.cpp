// `show ranks`: the ranks of a run side by side.
#include "analyzer/ranks/rank_comparison.h"
#include "cli/commands.h"
#include "cli/rank_summaries.h"
#include "cli/ranks_text.h"
#include "cli/show_view.h"

namespace dcmt::cli {
namespace {

struct RanksOptions {
  std::vector<std::string> paths = {kLastRun};
  bool json = false;
};

int show_ranks(const RanksOptions& options) {
  Expected<std::vector<analyzer::RankFacts>> ranks = load_rank_facts(options.paths);
  if (!ranks.ok()) return print_error(ranks.error());
  const Expected<analyzer::RankComparison> comparison = analyzer::compare_ranks(std::move(*ranks));
  if (!comparison.ok()) return print_error(comparison.error());
  if (options.json) {
    std::cout << JsonDocument("show ranks").with(*comparison);
  } else {
    const Style style = Style::of_stdout();
    std::cout << folded(ranks_text(*comparison, style), style);
  }
  return kExitOk;
}

}  // namespace

void add_ranks_view(Parser show, int& exit_code) {
  auto options = std::make_shared<RanksOptions>();
  Parser view = show.add_subcommand("ranks", "The ranks of a run side by side, and what differs");
  view.add_option("PATH", options->paths,
                  "The folder of a run, or traces (*.dcmt), one of each rank; last: the newest run")
      .capture_default_str();
  view.add_flag("--json", options->json, "Machine-readable output (docs/json.md)");
  view.footer(
      "Peaks of each rank; then the order of gathers, the parameters (gathered bytes, uses, persistence) and the\n"
      "residual sets, which should be the same on all of them. The first gather that differs is named: from there on\n"
      "the collectives of the ranks do not match. Ranks that agree share a row; ranks without a trace are named.\n\n"
      "Examples:\n"
      "  dc-memtrace show ranks out/\n"
      "  dc-memtrace show ranks host0/out/ host1/out/ --json");
  view.callback([options, &exit_code] { exit_code = show_ranks(*options); });
}

}  // namespace dcmt::cli
