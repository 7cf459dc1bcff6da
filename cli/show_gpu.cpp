// `show reserved` and `kernels`: what a GPU's allocator had reserved, and when the GPU worked.
#include "analyzer/model/kernels_view.h"
#include "analyzer/model/reserved_view.h"
#include "cli/long_work.h"
#include "cli/show_text.h"
#include "cli/show_view.h"

namespace dcmt::cli {
namespace {

Status show_reserved(const LoadedTrace& trace, const ShowOptions& options, const Style& style, ShowOutput& output) {
  DCMT_ASSIGN_OR_RETURN(const model::ReservedView reserved,
                        model::reserved_view(trace.path, trace.analysis, options.at, options.settings));
  output.add(reserved, [&](const auto& view) { return reserved_text(view, style); });
  return {};
}

void add_reserved(Parser show, int& exit_code) {
  auto options = std::make_shared<ShowOptions>();
  Parser view =
      add_view(show, "reserved", "What a GPU's allocator had reserved: in use, rounded, free, and why it stays",
               options, of_loaded(show_reserved), exit_code);
  view.add_option("--at", options->at, "peak: of what was reserved; other names as for `show live`")
      .capture_default_str();
  view.add_option("--device", options->device, kDeviceHelp);
  view.add_option("--if", options->settings,
                  "Predict the same requests under other settings of PYTORCH_ALLOC_CONF; can be repeated");
  view.footer(
      "Needs a trace of `run --detail full`, or of a memory snapshot. The rows add up to what torch counts as\n"
      "reserved. A prediction replays the recorded requests in a model of torch's allocator; the model is used only\n"
      "for a run that it follows event by event.\n\n"
      "Examples:\n"
      "  dc-memtrace show reserved out/\n"
      "  dc-memtrace show reserved out/ --at oom\n"
      "  dc-memtrace show reserved out/ --if expandable_segments:True --if max_split_size_mb:128");
}

Status show_kernels(OpenedTrace& trace, const ShowOptions& /*options*/, const Style& style, ShowOutput& output) {
  const LongWork work(trace.path);
  DCMT_ASSIGN_OR_RETURN(const analyzer::TraceData data, analyzer::TraceData::load(trace.database, work.watch()));
  DCMT_ASSIGN_OR_RETURN(std::vector<analyzer::GpuTimeline> gpus, analyzer::gpu_timelines(data, trace.database));
  output.add(model::KernelsView{trace.path, trace.rank, std::move(gpus)},
             [&](const auto& view) { return kernels_text(view, style); });
  return {};
}

void add_kernels(Parser show, int& exit_code) {
  auto options = std::make_shared<ShowOptions>();
  Parser view = add_view(show, "kernels", "When GPUs worked, and on what (run --kernels all)", options,
                         of_opened(show_kernels), exit_code);
  view.footer(
      "Times are the GPU's. A kernel of a CUDA graph has the place that launched the graph.\n\n"
      "Examples:\n"
      "  dc-memtrace show kernels out/\n"
      "  dc-memtrace show kernels out/rank0.dcmt --json");
}

}  // namespace

void add_gpu_views(Parser show, int& exit_code) {
  add_reserved(show, exit_code);
  add_kernels(show, exit_code);
}

}  // namespace dcmt::cli
