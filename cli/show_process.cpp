// `show memory` and `native`: the memory of the process beside torch's, and of the whole job.
#include "analyzer/model/job_view.h"
#include "analyzer/model/memory_view.h"
#include "analyzer/model/native_view.h"
#include "cli/commands.h"
#include "cli/show_text.h"
#include "cli/show_view.h"

namespace dcmt::cli {
namespace {

Status show_memory(const LoadedTrace& trace, const ShowOptions& /*options*/, const Style& style, ShowOutput& output) {
  output.add(model::memory_view(trace.path, trace.analysis),
             [&](const auto& view) { return memory_text(view, style); });
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
  ShowOutput output(options, command, style);
  for (const model::JobView& job : jobs) {
    if (jobs.size() > 1) output.title(style.bold("== " + job.path) + "\n");
    output.add(job, [&](const auto& view) { return job_text(view, style); });
  }
  if (jobs.empty()) output.title("The memory of the job was not sampled in this recording.\n");
  output.finish();
  return kExitOk;
}

RunView of_memory() {
  return [of_process = of_loaded(show_memory)](const std::string& command, const ShowOptions& options) {
    return options.job ? show_job(command + " --job", options) : of_process(command, options);
  };
}

void add_memory(Parser show, int& exit_code) {
  auto options = std::make_shared<ShowOptions>();
  Parser view =
      add_view(show, "memory", "The whole process: what is resident besides torch's memory, by step and class", options,
               of_memory(), exit_code);
  view.add_flag("--job", options->job,
                "All processes of the job instead, its shared memory, and its control group's page cache");
  view.footer(
      "What the kernel counts of the process, sampled beside the run. Classes are read seldom. \"else\" is what is\n"
      "not in blocks of torch's allocator; \"change\" is since the first reading of the classes.\n\n"
      "Examples:\n"
      "  dc-memtrace show memory out/\n"
      "  dc-memtrace show memory out/ --job\n"
      "  dc-memtrace show memory out/rank0.dcmt --json");
}

Status show_native(const LoadedTrace& trace, const ShowOptions& /*options*/, const Style& style, ShowOutput& output) {
  output.add(model::native_view(trace.path, trace.analysis),
             [&](const auto& view) { return native_text(view, style); });
  return {};
}

void add_native(Parser show, int& exit_code) {
  auto options = std::make_shared<ShowOptions>();
  Parser view = add_view(show, "native", "What C and C++ allocate beside torch, by line (run --native)", options,
                         of_loaded(show_native), exit_code);
  view.footer(
      "An estimate from a sample: an allocation is in it with a probability that depends on its size. \"95 %\" is the\n"
      "interval that has the true number so often. Without debug information a place is a function and an offset.\n\n"
      "Examples:\n"
      "  dc-memtrace show native out/\n"
      "  dc-memtrace show native out/rank0.dcmt --json");
}

}  // namespace

void add_process_views(Parser show, int& exit_code) {
  add_memory(show, exit_code);
  add_native(show, exit_code);
}

}  // namespace dcmt::cli
