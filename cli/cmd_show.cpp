#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/curve_view.h"
#include "analyzer/model/holders_view.h"
#include "analyzer/model/job_view.h"
#include "analyzer/model/kernels_view.h"
#include "analyzer/model/memory_view.h"
#include "analyzer/model/native_view.h"
#include "analyzer/model/recompute_view.h"
#include "analyzer/model/reserved_view.h"
#include "analyzer/model/saved_view.h"
#include "analyzer/model/views.h"
#include "analyzer/ranks/rank_comparison.h"
#include "analyzer/time/curve_overview.h"
#include "cli/commands.h"
#include "cli/curve_text.h"
#include "cli/default_folder.h"
#include "cli/inputs.h"
#include "cli/json_writer.h"
#include "cli/long_work.h"
#include "cli/parser.h"
#include "cli/rank_summaries.h"
#include "cli/ranks_text.h"
#include "cli/show_text.h"
#include "trace/base/closest_word.h"
#include "trace/base/shell_words.h"

namespace dcmt::cli {
namespace {

constexpr char kDeviceHelp[] =
    "cpu, cuda:1, or cuda for the first GPU; without it, the GPU with the highest peak, else the CPU";

struct ShowOptions {
  std::string path = kLastRun;
  std::optional<std::int64_t> rank;
  bool json = false, bytes = false;
  std::string at = "peak";
  std::string by = "site";
  std::string device;
  std::int64_t storage = 0;
  std::string asked;
  analyzer::CurveQuestion curve;
  std::vector<std::string> ifs;
  bool job = false;
  std::optional<Option> second;  ///< the word behind the path, of a view that needs one
};

/// Prints the views of one trace, as text or as JSON.
class Shown {
 public:
  Shown(const ShowOptions& options, const std::string& command, const Style& style) : style_(style) {
    if (options.json) json_.emplace(command, std::cout);
  }

  template <Described ShownView, class MakeText>
  void add(const ShownView& view, const MakeText& make_text) {
    if (json_) {
      json_->add(view);
    } else {
      text_ += make_text(view);
    }
  }
  void title(const std::string& text) { text_ += text; }
  void finish() {
    if (json_) {
      json_->finish();
    } else {
      std::cout << folded(text_, style_);
    }
  }

 private:
  Style style_;
  std::optional<TracesDocument> json_;
  std::string text_;
};
using Show = std::function<Status(OpenedTrace&, const ShowOptions&, const Style&, Shown&)>;
using View = std::function<int(const std::string& command, const ShowOptions&)>;

/// A view that reads only what it shows, trace by trace.
View of_opened(const Show& show_one) {
  return [show_one](const std::string& command, const ShowOptions& options) -> int {
    Expected<std::vector<OpenedTrace>> traces = open_traces({options.path}, options.rank);
    if (!traces.ok()) return print_error(traces.error());
    const Style style = Style::of_stdout(options.bytes);
    Shown shown(options, command, style);
    for (OpenedTrace& trace : *traces) {
      if (traces->size() > 1) shown.title(style.bold("== " + trace.path) + "\n");
      if (const Status status = show_one(trace, options, style, shown); !status.ok())
        return print_error(status.error());
    }
    shown.finish();
    return kExitOk;
  };
}

/// A view of a trace that is loaded completely.
View of_loaded(Status (*show_one)(const LoadedTrace&, const ShowOptions&, const Style&, Shown&)) {
  return of_opened(
      [show_one](OpenedTrace& opened, const ShowOptions& options, const Style& style, Shown& shown) -> Status {
        DCMT_ASSIGN_OR_RETURN(LoadedTrace trace, load_trace(std::move(opened)));
        DCMT_RETURN_IF_ERROR(keep_device(trace, options.device));
        return show_one(trace, options, style, shown);
      });
}

Status show_peak(const LoadedTrace& trace, const ShowOptions& options, const Style& style, Shown& shown) {
  shown.add(model::peak_view(trace.path, trace.analysis),
            [&](const auto& view) { return peak_text(view, *Grouping::named(options.by), style); });
  return {};
}

Status show_releases(const LoadedTrace& trace, const ShowOptions& /*options*/, const Style& style, Shown& shown) {
  shown.add(model::releases_view(trace.path, trace.analysis),
            [&](const auto& view) { return releases_text(view, style); });
  return {};
}

Status show_live(const LoadedTrace& trace, const ShowOptions& options, const Style& style, Shown& shown) {
  DCMT_ASSIGN_OR_RETURN(const model::LiveView live,
                        model::live_view(trace.path, trace.analysis, options.at, options.device.empty()));
  shown.add(live, [&](const auto& view) { return live_text(view, *Grouping::named(options.by), style); });
  return {};
}

Status show_storage(const LoadedTrace& trace, const ShowOptions& options, const Style& style, Shown& shown) {
  DCMT_ASSIGN_OR_RETURN(const model::StorageView storage,
                        model::storage_view(trace.path, trace.analysis, StorageId(options.storage)));
  shown.add(storage, [&](const auto& view) { return storage_text(view, style); });
  return {};
}

Status show_holders(const LoadedTrace& trace, const ShowOptions& options, const Style& style, Shown& shown) {
  DCMT_ASSIGN_OR_RETURN(const model::HoldersView holders,
                        model::holders_view(trace.path, trace.analysis, options.asked));
  shown.add(holders, [&](const auto& view) { return holders_text(view, style); });
  return {};
}

Status show_saved(const LoadedTrace& trace, const ShowOptions& options, const Style& style, Shown& shown) {
  DCMT_ASSIGN_OR_RETURN(const model::SavedView saved, model::saved_view(trace.path, trace.analysis, options.at));
  shown.add(saved, [&](const auto& view) { return saved_text(view, Grouping::named(options.by), style); });
  return {};
}

Status show_memory(const LoadedTrace& trace, const ShowOptions& /*options*/, const Style& style, Shown& shown) {
  shown.add(model::memory_view(trace.path, trace.analysis), [&](const auto& view) { return memory_text(view, style); });
  return {};
}

int show_job(const std::string& command, const ShowOptions& options) {
  Expected<std::vector<OpenedTrace>> traces = open_traces({options.path}, options.rank);
  if (!traces.ok()) return print_error(traces.error());
  std::vector<model::JobOfTrace> of_traces;
  for (OpenedTrace& trace : *traces) {
    Expected<model::JobOfTrace> loaded = model::JobOfTrace::load(trace.path, trace.rank, trace.database);
    if (!loaded.ok()) return print_error(loaded.error());
    of_traces.push_back(std::move(*loaded));
  }
  const std::vector<model::JobView> jobs = model::job_views(of_traces);
  const Style style = Style::of_stdout(options.bytes);
  Shown shown(options, command, style);
  for (const model::JobView& job : jobs) {
    if (jobs.size() > 1) shown.title(style.bold("== " + job.path) + "\n");
    shown.add(job, [&](const auto& view) { return job_text(view, style); });
  }
  if (jobs.empty()) shown.title("The memory of the job was not sampled in this recording.\n");
  shown.finish();
  return kExitOk;
}

Status show_native(const LoadedTrace& trace, const ShowOptions& /*options*/, const Style& style, Shown& shown) {
  shown.add(model::native_view(trace.path, trace.analysis), [&](const auto& view) { return native_text(view, style); });
  return {};
}

Status show_recompute(const LoadedTrace& trace, const ShowOptions& /*options*/, const Style& style, Shown& shown) {
  shown.add(model::recompute_view(trace.path, trace.analysis),
            [&](const auto& view) { return recompute_text(view, style); });
  return {};
}

View of_memory() {
  return [of_process = of_loaded(show_memory)](const std::string& command, const ShowOptions& options) {
    return options.job ? show_job(command + " --job", options) : of_process(command, options);
  };
}

Status show_reserved(const LoadedTrace& trace, const ShowOptions& options, const Style& style, Shown& shown) {
  DCMT_ASSIGN_OR_RETURN(const model::ReservedView reserved,
                        model::reserved_view(trace.path, trace.analysis, options.at, options.ifs));
  shown.add(reserved, [&](const auto& view) { return reserved_text(view, style); });
  return {};
}

Status show_kernels(OpenedTrace& trace, const ShowOptions& /*options*/, const Style& style, Shown& shown) {
  const LongWork work(trace.path);
  DCMT_ASSIGN_OR_RETURN(const analyzer::TraceData data, analyzer::TraceData::load(trace.database, work.watch()));
  DCMT_ASSIGN_OR_RETURN(std::vector<analyzer::GpuTimeline> gpus, analyzer::gpu_timelines(data, trace.database));
  shown.add(model::KernelsView{trace.path, trace.rank, std::move(gpus)},
            [&](const auto& view) { return kernels_text(view, style); });
  return {};
}

Status show_curve(OpenedTrace& trace, const ShowOptions& options, const Style& style, Shown& shown) {
  DCMT_ASSIGN_OR_RETURN(analyzer::CurveOverview curve, analyzer::curve_overview(trace.database, options.curve));
  shown.add(model::CurveView{trace.path, trace.rank, std::move(curve)},
            [&](const auto& view) { return curve_text(view, style); });
  return {};
}

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

void add_ranks_view(Parser show_command, int& exit_code) {
  auto options = std::make_shared<RanksOptions>();
  Parser view = show_command.add_subcommand("ranks", "The ranks of a run side by side, and what differs");
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

Parser add_view(Parser show_command, const std::string& name, const std::string& help,
                const std::shared_ptr<ShowOptions>& options, const View& view_of, int& exit_code) {
  Parser view = show_command.add_subcommand(name, help);
  view.add_option("PATH", options->path, "A trace (*.dcmt), or a folder of them; last: the newest run")
      .capture_default_str();
  view.add_option("--rank", options->rank, "Only the trace of this rank");
  view.add_flag("--json", options->json, "Machine-readable output (docs/json.md)");
  view.add_flag("--bytes", options->bytes, kBytesHelp);
  view.callback([=, &exit_code] {
    if (options->second && !options->second->given()) {
      throw UsageError{"a run and a second word are required, as in: dc-memtrace show " + name + " last 1"};
    }
    exit_code = view_of("show " + name, *options);
  });
  return view;
}

/// The output of `show` alone: its views, and the commands for the newest run.
std::string overview(Parser show_command) {
  std::string text = "Views of a trace:\n";
  for (const Parser& view : show_command.subcommands())
    text += "  " + left(view.name(), 10) + view.description() + "\n";
  const Expected<std::string> run = newest_run();
  return text + "next: dc-memtrace show peak " + (run.ok() ? shell_word(*run) : "PATH") + "\n";
}

void add_grouping(Parser view, const std::shared_ptr<ShowOptions>& options) {
  const auto wrong = [](const std::string& name) -> std::string {
    if (Grouping::named(name)) return {};
    std::vector<std::string> names;
    for (const auto& [each, by] : analyzer::kGroupNames) names.emplace_back(each);
    const std::string known = joined(names, ", ");
    return "'" + name + "' is none of " + known + ", module:DEPTH." +
           did_you_mean(name.substr(0, name.find(':')), names);
  };
  view.add_option("--by", options->by,
                  "Group by site, operator, phase, kind, category (parameter, gradient, optimizer state, saved for "
                  "backward, …), module (model.layers.3.mlp; module:2 joins model.layers.*), owner (the parameter "
                  "gathered), origin (of its gather) or "
                  "holder (the variable, container or graph that was found in the program's memory)")
      .check(wrong)
      .capture_default_str();
}

}  // namespace

void add_show_command(Parser app, int& exit_code) {
  Parser command = app.add_subcommand("show",
                                      "One view of a trace: curve, peak, releases, live, storage, holders, saved, "
                                      "recompute, memory, native, reserved, kernels, "
                                      "ranks");
  command.require_subcommand(0, 1);
  command.callback([command, &exit_code] {
    if (command.subcommand_given()) return;
    std::cout << overview(command);
    exit_code = kExitOk;
  });
  command.footer(
      "Examples:\n"
      "  dc-memtrace show curve out/\n"
      "  dc-memtrace show peak out/ --by operator\n"
      "  dc-memtrace show peak out/ --by holder\n"
      "  dc-memtrace show peak out/ --by module:3\n"
      "  dc-memtrace show releases out/rank0.dcmt\n"
      "  dc-memtrace show live out/ --at step:3\n"
      "  dc-memtrace show storage out/rank0.dcmt 417\n"
      "  dc-memtrace show holders out/ 1\n"
      "  dc-memtrace show reserved out/\n"
      "  dc-memtrace show ranks out/");

  auto curve = std::make_shared<ShowOptions>();
  curve->curve.rows = 24;
  Parser view = add_view(command, "curve", "Allocated bytes over the run", curve, of_opened(show_curve), exit_code);
  view.add_option("--from", curve->curve.from, "A sequence number, or step:N for its begin");
  view.add_option("--to", curve->curve.to, "A sequence number, or step:N for its end");
  view.add_option("--rows", curve->curve.rows, "Most rows").range(1, 100'000).capture_default_str();
  view.add_option("--device", curve->curve.device, kDeviceHelp);
  view.footer(
      "Each row has the lowest and the highest point up to the row below it: no peak is lost, however few rows. A row\n"
      "stands for 64 changes of the curve or more.\n\n"
      "Examples:\n"
      "  dc-memtrace show curve out/\n"
      "  dc-memtrace show curve out/rank0.dcmt --from step:10 --to step:12 --rows 60");

  auto peak = std::make_shared<ShowOptions>();
  view = add_view(command, "peak", "What was alive at the highest point", peak, of_loaded(show_peak), exit_code);
  add_grouping(view, peak);
  view.add_option("--device", peak->device, kDeviceHelp);
  view.footer(
      "Examples:\n"
      "  dc-memtrace show peak out/ --by phase\n"
      "  dc-memtrace show peak out/ --device cpu");

  auto releases = std::make_shared<ShowOptions>();
  view = add_view(command, "releases", "Every release: what it freed, when the bytes went", releases,
                  of_loaded(show_releases), exit_code);
  view.footer(
      "Verdicts: freed (before the thread's next operator), late (by the end of the step), never (alive at its end),\n"
      "early (read before the next gather), counted (uses were left), persistent, no gather.\n\n"
      "Example:\n  dc-memtrace show releases out/rank0.dcmt");

  auto live = std::make_shared<ShowOptions>();
  view = add_view(command, "live", "What is alive at one point of the run: by default its peak", live,
                  of_loaded(show_live), exit_code);
  add_grouping(view, live);
  view.add_option(
          "--at", live->at,
          "peak; exit: after the last allocation; end: of the recording; oom: when memory ran out (oom#2: the second "
          "time); step:N: its end; mark:NAME: its end (mark:NAME#2); or a sequence number")
      .capture_default_str();
  view.add_option("--device", live->device, std::string(kDeviceHelp) + ", or the one that ran out of memory then");
  view.footer(
      "Examples:\n"
      "  dc-memtrace show live out/ --at exit --by holder\n"
      "  dc-memtrace show live out/ --at step:2 --by kind\n"
      "  dc-memtrace show live out/ --device cpu --by kind");

  auto storage = std::make_shared<ShowOptions>();
  view = add_view(command, "storage", "The life of one storage, and who held it", storage, of_loaded(show_storage),
                  exit_code);
  storage->second = view.add_option("ID", storage->storage,
                                    "Its id: largest id of `show live` and `show peak`, storage of `show releases`");
  view.footer("Example:\n  dc-memtrace show storage out/rank0.dcmt 417");

  auto holders = std::make_shared<ShowOptions>();
  view = add_view(command, "holders", "Who holds storages: of a finding, a storage, or a line of the program", holders,
                  of_loaded(show_holders), exit_code);
  holders->second = view.add_option(
      "WHAT", holders->asked,
      "A finding's number, a storage's id, or a line (train.py:17); write finding:1 or storage:1 where both exist");
  view.footer(
      "Found and still are the first and the last reading of the program's memory that had the path. Alone are the\n"
      "bytes that are freed if only this container is emptied.\n\n"
      "Examples:\n"
      "  dc-memtrace show holders out/ 1\n"
      "  dc-memtrace show holders out/rank0.dcmt storage:417\n"
      "  dc-memtrace show holders out/ train.py:17 --json");

  auto saved = std::make_shared<ShowOptions>();
  saved->by.clear();
  view = add_view(command, "saved", "What autograd keeps for backward, by node and field", saved, of_loaded(show_saved),
                  exit_code);
  view.add_option("--at", saved->at, "Of what was alive then; names as for `show live`").capture_default_str();
  view.add_option("--by", saved->by, "By module instead: module, or module:DEPTH, as for `show live`")
      .check([](const std::string& name) -> std::string {
        const std::optional<Grouping> by = Grouping::named(name);
        return by && by->by == analyzer::GroupBy::kModule ? "" : "must be module or module:DEPTH";
      });
  view.footer(
      "The rows come from readings of the program's memory. Whether backward read the values is not observed.\n\n"
      "Examples:\n"
      "  dc-memtrace show saved out/\n"
      "  dc-memtrace show saved out/rank0.dcmt --at step:3");

  auto recompute = std::make_shared<ShowOptions>();
  view = add_view(command, "recompute", "The peak if modules were checkpointed: computed again in the backward",
                  recompute, of_loaded(show_recompute), exit_code);
  view.add_option("--device", recompute->device, kDeviceHelp);
  view.footer(
      "A prediction from what the calls of each module made, and what of it was kept until the module's backward. Of\n"
      "compiled modules, and of allocations under 64 KiB, the module is not known: they stay as they are.\n\n"
      "Examples:\n"
      "  dc-memtrace show recompute out/\n"
      "  dc-memtrace show recompute out/ --device cuda:1 --json");

  auto memory = std::make_shared<ShowOptions>();
  view = add_view(command, "memory", "The whole process: what is resident besides torch's memory, by step and class",
                  memory, of_memory(), exit_code);
  view.add_flag("--job", memory->job,
                "All processes of the job instead, its shared memory, and its control group's page cache");
  view.footer(
      "What the kernel counts of the process, sampled beside the run. Classes are read seldom. \"else\" is what is\n"
      "not in blocks of torch's allocator; \"change\" is since the first reading of the classes.\n\n"
      "Examples:\n"
      "  dc-memtrace show memory out/\n"
      "  dc-memtrace show memory out/ --job\n"
      "  dc-memtrace show memory out/rank0.dcmt --json");

  auto native = std::make_shared<ShowOptions>();
  view = add_view(command, "native", "What C and C++ allocate beside torch, by line (run --native)", native,
                  of_loaded(show_native), exit_code);
  view.footer(
      "An estimate from a sample: an allocation is in it with a probability that depends on its size. \"95 %\" is the\n"
      "interval that has the true number so often. Without debug information a place is a function and an offset.\n\n"
      "Examples:\n"
      "  dc-memtrace show native out/\n"
      "  dc-memtrace show native out/rank0.dcmt --json");

  auto reserved = std::make_shared<ShowOptions>();
  view = add_view(command, "reserved", "What a GPU's allocator had reserved: in use, rounded, free, and why it stays",
                  reserved, of_loaded(show_reserved), exit_code);
  view.add_option("--at", reserved->at, "peak: of what was reserved; other names as for `show live`")
      .capture_default_str();
  view.add_option("--device", reserved->device, kDeviceHelp);
  view.add_option("--if", reserved->ifs,
                  "Predict the same requests under other settings of PYTORCH_ALLOC_CONF; can be repeated");
  view.footer(
      "Needs a trace of `run --detail full`, or of a memory snapshot. The rows add up to what torch counts as\n"
      "reserved. A prediction replays the recorded requests in a model of torch's allocator; the model is used only\n"
      "for a run that it follows event by event.\n\n"
      "Examples:\n"
      "  dc-memtrace show reserved out/\n"
      "  dc-memtrace show reserved out/ --at oom\n"
      "  dc-memtrace show reserved out/ --if expandable_segments:True --if max_split_size_mb:128");

  auto kernels = std::make_shared<ShowOptions>();
  view = add_view(command, "kernels", "When GPUs worked, and on what (run --kernels all)", kernels,
                  of_opened(show_kernels), exit_code);
  view.footer(
      "Times are the GPU's. A kernel of a CUDA graph has the place that launched the graph.\n\n"
      "Examples:\n"
      "  dc-memtrace show kernels out/\n"
      "  dc-memtrace show kernels out/rank0.dcmt --json");

  add_ranks_view(command, exit_code);
}

}  // namespace dcmt::cli
