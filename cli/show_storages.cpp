// `show peak`, `releases`, `live`, `storage`, `holders`, `saved`, `recompute`: storages and who holds them.
#include "analyzer/model/holders_view.h"
#include "analyzer/model/recompute_view.h"
#include "analyzer/model/saved_view.h"
#include "analyzer/model/views.h"
#include "cli/show_text.h"
#include "cli/show_view.h"

namespace dcmt::cli {
namespace {

Status show_peak(const LoadedTrace& trace, const ShowOptions& options, const Style& style, ShowOutput& output) {
  output.add(model::peak_view(trace.path, trace.analysis),
             [&](const auto& view) { return peak_text(view, *Grouping::named(options.by), style); });
  return {};
}

void add_peak(Parser show, int& exit_code) {
  auto options = std::make_shared<ShowOptions>();
  Parser view = add_view(show, "peak", "What was alive at the highest point", options, of_loaded(show_peak), exit_code);
  add_grouping(view, options);
  view.add_option("--device", options->device, kDeviceHelp);
  view.footer(
      "Examples:\n"
      "  dc-memtrace show peak out/ --by phase\n"
      "  dc-memtrace show peak out/ --device cpu");
}

Status show_releases(const LoadedTrace& trace, const ShowOptions& /*options*/, const Style& style, ShowOutput& output) {
  output.add(model::releases_view(trace.path, trace.analysis),
             [&](const auto& view) { return releases_text(view, style); });
  return {};
}

void add_releases(Parser show, int& exit_code) {
  auto options = std::make_shared<ShowOptions>();
  Parser view = add_view(show, "releases", "Every release: what it freed, when the bytes went", options,
                         of_loaded(show_releases), exit_code);
  view.footer(
      "Verdicts: freed (before the thread's next operator), late (by the end of the step), never (alive at its end),\n"
      "early (read before the next gather), counted (uses were left), persistent, no gather.\n\n"
      "Example:\n  dc-memtrace show releases out/rank0.dcmt");
}

Status show_live(const LoadedTrace& trace, const ShowOptions& options, const Style& style, ShowOutput& output) {
  DCMT_ASSIGN_OR_RETURN(const model::LiveView live,
                        model::live_view(trace.path, trace.analysis, options.at, options.device.empty()));
  output.add(live, [&](const auto& view) { return live_text(view, *Grouping::named(options.by), style); });
  return {};
}

void add_live(Parser show, int& exit_code) {
  auto options = std::make_shared<ShowOptions>();
  Parser view = add_view(show, "live", "What is alive at one point of the run: by default its peak", options,
                         of_loaded(show_live), exit_code);
  add_grouping(view, options);
  view.add_option(
          "--at", options->at,
          "peak; exit: after the last allocation; end: of the recording; oom: when memory ran out (oom#2: the second "
          "time); step:N: its end; mark:NAME: its end (mark:NAME#2); or a sequence number")
      .capture_default_str();
  view.add_option("--device", options->device, std::string(kDeviceHelp) + ", or the one that ran out of memory then");
  view.footer(
      "Examples:\n"
      "  dc-memtrace show live out/ --at exit --by holder\n"
      "  dc-memtrace show live out/ --at step:2 --by kind\n"
      "  dc-memtrace show live out/ --device cpu --by kind");
}

Status show_storage(const LoadedTrace& trace, const ShowOptions& options, const Style& style, ShowOutput& output) {
  DCMT_ASSIGN_OR_RETURN(const model::StorageView storage,
                        model::storage_view(trace.path, trace.analysis, StorageId(options.storage)));
  output.add(storage, [&](const auto& view) { return storage_text(view, style); });
  return {};
}

void add_storage(Parser show, int& exit_code) {
  auto options = std::make_shared<ShowOptions>();
  Parser view = add_view(show, "storage", "The life of one storage, and who held it", options, of_loaded(show_storage),
                         exit_code);
  options->second = view.add_option("ID", options->storage,
                                    "Its id: largest id of `show live` and `show peak`, storage of `show releases`");
  view.footer("Example:\n  dc-memtrace show storage out/rank0.dcmt 417");
}

Status show_holders(const LoadedTrace& trace, const ShowOptions& options, const Style& style, ShowOutput& output) {
  DCMT_ASSIGN_OR_RETURN(const model::HoldersView holders,
                        model::holders_view(trace.path, trace.analysis, options.holders_of));
  output.add(holders, [&](const auto& view) { return holders_text(view, style); });
  return {};
}

void add_holders(Parser show, int& exit_code) {
  auto options = std::make_shared<ShowOptions>();
  Parser view = add_view(show, "holders", "Who holds storages: of a finding, a storage, or a line of the program",
                         options, of_loaded(show_holders), exit_code);
  options->second = view.add_option(
      "WHAT", options->holders_of,
      "A finding's number, a storage's id, or a line (train.py:17); write finding:1 or storage:1 where both exist");
  view.footer(
      "Found and still are the first and the last reading of the program's memory that had the path. Alone are the\n"
      "bytes that are freed if only this container is emptied.\n\n"
      "Examples:\n"
      "  dc-memtrace show holders out/ 1\n"
      "  dc-memtrace show holders out/rank0.dcmt storage:417\n"
      "  dc-memtrace show holders out/ train.py:17 --json");
}

Status show_saved(const LoadedTrace& trace, const ShowOptions& options, const Style& style, ShowOutput& output) {
  DCMT_ASSIGN_OR_RETURN(const model::SavedView saved, model::saved_view(trace.path, trace.analysis, options.at));
  output.add(saved, [&](const auto& view) { return saved_text(view, Grouping::named(options.by), style); });
  return {};
}

void add_saved(Parser show, int& exit_code) {
  auto options = std::make_shared<ShowOptions>();
  options->by.clear();
  Parser view = add_view(show, "saved", "What autograd keeps for backward, by node and field", options,
                         of_loaded(show_saved), exit_code);
  view.add_option("--at", options->at, "Of what was alive then; names as for `show live`").capture_default_str();
  view.add_option("--by", options->by, "By module instead: module, or module:DEPTH, as for `show live`")
      .check([](const std::string& name) -> std::string {
        const std::optional<Grouping> by = Grouping::named(name);
        return by && by->by == analyzer::GroupBy::kModule ? "" : "must be module or module:DEPTH";
      });
  view.footer(
      "The rows come from readings of the program's memory. Whether backward read the values is not observed.\n\n"
      "Examples:\n"
      "  dc-memtrace show saved out/\n"
      "  dc-memtrace show saved out/rank0.dcmt --at step:3");
}

Status show_recompute(const LoadedTrace& trace, const ShowOptions& /*options*/, const Style& style,
                      ShowOutput& output) {
  output.add(model::recompute_view(trace.path, trace.analysis),
             [&](const auto& view) { return recompute_text(view, style); });
  return {};
}

void add_recompute(Parser show, int& exit_code) {
  auto options = std::make_shared<ShowOptions>();
  Parser view = add_view(show, "recompute", "The peak if modules were checkpointed: computed again in the backward",
                         options, of_loaded(show_recompute), exit_code);
  view.add_option("--device", options->device, kDeviceHelp);
  view.footer(
      "A prediction from what the calls of each module made, and what of it was kept until the module's backward. Of\n"
      "compiled modules, and of allocations under 64 KiB, the module is not known: they stay as they are.\n\n"
      "Examples:\n"
      "  dc-memtrace show recompute out/\n"
      "  dc-memtrace show recompute out/ --device cuda:1 --json");
}

}  // namespace

void add_storage_views(Parser show, int& exit_code) {
  add_peak(show, exit_code);
  add_releases(show, exit_code);
  add_live(show, exit_code);
  add_storage(show, exit_code);
  add_holders(show, exit_code);
  add_saved(show, exit_code);
  add_recompute(show, exit_code);
}

}  // namespace dcmt::cli
