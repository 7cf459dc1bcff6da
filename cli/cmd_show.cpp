#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/ranks/rank_comparison.h"
#include "analyzer/time/curve_overview.h"
#include "analyzer/time/timeline.h"
#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/ranks_json.h"
#include "cli/ranks_text.h"
#include "cli/report_json.h"
#include "cli/report_text.h"
#include "cli/show_text.h"

namespace dcmt::cli {
namespace {

constexpr char kDeviceHelp[] =
    "cpu, cuda:1, or cuda for the first GPU; without it, the GPU with the highest peak, else the CPU";

struct Options {
  std::string path;
  std::optional<std::int64_t> rank;
  bool json = false;
  std::string at = "end";
  std::string by = "site";
  std::string device;
  std::int64_t storage = 0;
  analyzer::CurveQuestion curve;
};

std::map<std::string, analyzer::GroupBy> groups_by_name() {
  std::map<std::string, analyzer::GroupBy> groups;
  for (const auto& [name, by] : analyzer::kGroupNames) groups.emplace(name, by);
  return groups;
}

/// What one trace has to show: of text and JSON the one that was asked for.
struct Shown {
  Json json;
  std::string text;
};
template <class MakeJson, class MakeText>
Shown shown(const Options& options, const MakeJson& make_json, const MakeText& make_text) {
  return options.json ? Shown{make_json(), {}} : Shown{{}, make_text()};
}
using Show = std::function<Expected<Shown>(OpenedTrace&, const Options&, const Style&)>;
using View = std::function<int(const std::string& command, const Options&)>;

/// A view that reads what it shows; one trace after the other.
View of_opened(const Show& show_one) {
  return [show_one](const std::string& command, const Options& options) -> int {
    Expected<std::vector<OpenedTrace>> traces = open_traces({options.path}, options.rank);
    if (!traces.ok()) return print_error(traces.error());
    const Style style = options.json ? Style() : Style::of_stdout();
    Json list = Json::array();
    std::string text;
    for (OpenedTrace& trace : *traces) {
      if (traces->size() > 1) text += style.bold("== " + trace.path) + "\n";
      Expected<Shown> one = show_one(trace, options, style);
      if (!one.ok()) return print_error(one.error());
      text += one->text;
      list.push_back(std::move(one->json));
    }
    std::cout << (options.json ? printed(document(command, std::move(list))) + "\n" : text);
    return kExitOk;
  };
}

/// A view of what is read as a whole.
View of_loaded(Expected<Shown> (*show_one)(const LoadedTrace&, const Options&, const Style&)) {
  return of_opened([show_one](OpenedTrace& opened, const Options& options, const Style& style) -> Expected<Shown> {
    Expected<LoadedTrace> trace = load_trace(std::move(opened));
    if (!trace.ok()) return trace.error();
    if (const Status kept = keep_device(*trace, options.device); !kept.ok()) return kept.error();
    return show_one(*trace, options, style);
  });
}

Expected<Shown> show_peak(const LoadedTrace& trace, const Options& options, const Style& style) {
  return shown(
      options, [&] { return peak_json(trace); },
      [&] { return peak_text(trace, groups_by_name().at(options.by), style); });
}

Expected<Shown> show_releases(const LoadedTrace& trace, const Options& options, const Style& style) {
  return shown(
      options, [&] { return releases_json(trace); }, [&] { return releases_text(trace, style); });
}

/// The sequences before and after an interval without rows at which the trace knows what is alive; nothing if it knows
/// none.
std::string nearest_windows(const analyzer::TraceData& data, const analyzer::Interval& interval) {
  std::string before;
  for (const analyzer::Interval& other : data.intervals) {
    if (other.kept == Kept::kNo) continue;
    if (other.span.from_seq < interval.span.from_seq) {
      before = fmt::format(" Moments that were kept lie before: --at {}", other.span.to_seq.value);
    } else {
      const std::string lead = before.empty() ? " A moment that was kept lies after" : before + ", and after";
      return fmt::format("{}: --at {}.", lead, other.span.from_seq.value + 1);
    }
  }
  return before.empty() ? before : before + ".";
}

Expected<Shown> show_live(const LoadedTrace& trace, const Options& options, const Style& style) {
  const auto at = analyzer::find_moment(*trace.data, options.at, trace.analysis.main().what_if.measured.seq);
  if (!at) {
    return Error{ErrorCode::kUsage, trace.path + ": no moment '" + options.at +
                                        "'. --at takes a sequence number up to " +
                                        std::to_string(analyzer::last_sequence(*trace.data).value) +
                                        ", peak, end, step:N, oom or the name of a mark."};
  }
  if (const analyzer::Interval* interval = trace.data->sums_only_at(*at); interval != nullptr) {
    return Error{ErrorCode::kUsage, trace.path + ": what was alive at '" + options.at +
                                        "' was not kept, only sums of that part of the run." +
                                        nearest_windows(*trace.data, *interval)};
  }
  const analyzer::OutOfMemory* oom = analyzer::out_of_memory_at(*trace.data, *at);
  const StringId device = oom != nullptr && options.device.empty() ? oom->device : trace.analysis.main().device;
  return shown(
      options, [&] { return live_json(trace, device, *at); },
      [&] { return live_text(trace, device, *at, groups_by_name().at(options.by), style); });
}

Expected<Shown> show_storage(const LoadedTrace& trace, const Options& options, const Style& style) {
  const auto story = analyzer::storage_story(*trace.data, trace.analysis.releases, StorageId(options.storage));
  if (!story) {
    return Error{ErrorCode::kUsage, trace.path + ": no storage " + std::to_string(options.storage) +
                                        ". Ids are in the last column of: dc-memtrace show releases " + trace.path};
  }
  return shown(
      options, [&] { return storage_json(trace, *story); }, [&] { return storage_text(trace, *story, style); });
}

Expected<Shown> show_curve(OpenedTrace& trace, const Options& options, const Style& style) {
  Expected<analyzer::CurveOverview> curve = analyzer::curve_overview(trace.database, options.curve);
  if (!curve.ok()) return curve.error();
  return shown(
      options, [&] { return curve_json(trace, *curve); }, [&] { return curve_text(*curve, style); });
}

struct RanksOptions {
  std::vector<std::string> paths;
  bool json = false;
};

int show_ranks(const RanksOptions& options) {
  Expected<std::vector<analyzer::RankFacts>> ranks = load_rank_facts(options.paths);
  if (!ranks.ok()) return print_error(ranks.error());
  const Expected<analyzer::RankComparison> comparison = analyzer::compare_ranks(std::move(*ranks));
  if (!comparison.ok()) return print_error(comparison.error());
  if (options.json) {
    std::cout << printed(ranks_json(*comparison)) << "\n";
  } else {
    std::cout << ranks_text(*comparison, Style::of_stdout());
  }
  return kExitOk;
}

void add_ranks_view(CLI::App& show_command, int& exit_code) {
  auto options = std::make_shared<RanksOptions>();
  CLI::App* view = show_command.add_subcommand("ranks", "The ranks of a run beside each other, and what differs");
  view->add_option("PATH", options->paths, "The folder of a run, or traces (*.dcmt), one of each rank")->required();
  view->add_flag("--json", options->json, "Machine-readable output (docs/json.md)");
  view->footer(
      "Peaks of each rank; then the order of gathers, the parameters (gathered bytes, uses, persistence) and the\n"
      "residual sets, which should be the same on all of them. The first gather that differs is named: from there on\n"
      "the collectives of the ranks do not match. Ranks that agree share a row; ranks without a trace are named.\n\n"
      "Examples:\n"
      "  dc-memtrace show ranks out/\n"
      "  dc-memtrace show ranks host0/out/ host1/out/ --json");
  view->callback([options, &exit_code] { exit_code = show_ranks(*options); });
}

CLI::App* add_view(CLI::App& show_command, const std::string& name, const std::string& help,
                   const std::shared_ptr<Options>& options, const View& view_of, int& exit_code) {
  CLI::App* view = show_command.add_subcommand(name, help);
  view->add_option("PATH", options->path, "A trace (*.dcmt), or a folder of them")->required();
  view->add_option("--rank", options->rank, "Only the trace of this rank");
  view->add_flag("--json", options->json, "Machine-readable output (docs/json.md)");
  view->callback([=, &exit_code] { exit_code = view_of("show " + name, *options); });
  return view;
}

void add_grouping(CLI::App* view, const std::shared_ptr<Options>& options) {
  view->add_option("--by", options->by,
                   "Group by site, operator, phase, kind, owner (the parameter gathered) or origin (of its gather)")
      ->check(CLI::IsMember(groups_by_name()))
      ->capture_default_str();
}

}  // namespace

void add_show_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("show", "One view of a trace: curve, peak, releases, live, storage, ranks");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  dc-memtrace show curve out/\n"
      "  dc-memtrace show peak out/ --by operator\n"
      "  dc-memtrace show releases out/rank0.dcmt\n"
      "  dc-memtrace show live out/ --at step:3\n"
      "  dc-memtrace show storage out/rank0.dcmt 417\n"
      "  dc-memtrace show ranks out/");

  auto curve = std::make_shared<Options>();
  CLI::App* view = add_view(*command, "curve", "Allocated bytes over the run", curve, of_opened(show_curve), exit_code);
  view->add_option("--from", curve->curve.from, "A sequence number, or step:N for its begin");
  view->add_option("--to", curve->curve.to, "A sequence number, or step:N for its end");
  view->add_option("--rows", curve->curve.rows, "At most so many")
      ->check(CLI::Range(1, 100'000))
      ->default_val(std::size_t{24});
  view->add_option("--device", curve->curve.device, kDeviceHelp);
  view->footer(
      "Each row has the lowest and the highest point up to the row below it: no peak is lost, however few rows. A row\n"
      "stands for 64 changes of the curve or more.\n\n"
      "Examples:\n"
      "  dc-memtrace show curve out/\n"
      "  dc-memtrace show curve out/rank0.dcmt --from step:10 --to step:12 --rows 60");

  auto peak = std::make_shared<Options>();
  view = add_view(*command, "peak", "What was alive at the highest point", peak, of_loaded(show_peak), exit_code);
  add_grouping(view, peak);
  view->add_option("--device", peak->device, kDeviceHelp);
  view->footer(
      "Examples:\n"
      "  dc-memtrace show peak out/ --by phase\n"
      "  dc-memtrace show peak out/ --device cpu");

  auto releases = std::make_shared<Options>();
  view = add_view(*command, "releases", "Every release: what it freed, when the bytes went", releases,
                  of_loaded(show_releases), exit_code);
  view->footer(
      "Verdicts: freed (before the thread's next operator), late (by the end of the step), never (alive at its end),\n"
      "early (read before the next gather), counted (uses were left), persistent, no gather.\n\n"
      "Example:\n  dc-memtrace show releases out/rank0.dcmt");

  auto live = std::make_shared<Options>();
  view = add_view(*command, "live", "What is alive at a moment", live, of_loaded(show_live), exit_code);
  add_grouping(view, live);
  view->add_option("--at", live->at,
                   "A sequence number, peak, end, step:N, oom (oom#2: the second), or a mark's name (name#2)")
      ->capture_default_str();
  view->add_option("--device", live->device, std::string(kDeviceHelp) + ", or the one that ran out of memory then");
  view->footer(
      "Examples:\n"
      "  dc-memtrace show live out/ --at step:2 --by kind\n"
      "  dc-memtrace show live out/ --device cpu --by kind");

  auto storage = std::make_shared<Options>();
  view = add_view(*command, "storage", "The life of one storage, and who held it", storage, of_loaded(show_storage),
                  exit_code);
  view->add_option("ID", storage->storage, "Its id, as in `show releases`")->required();
  view->footer("Example:\n  dc-memtrace show storage out/rank0.dcmt 417");

  add_ranks_view(*command, exit_code);
}

}  // namespace dcmt::cli
