#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/time/named_point.h"
#include "cli/commands.h"
#include "cli/default_folder.h"
#include "cli/inputs.h"
#include "cli/json_writer.h"
#include "cli/long_work.h"
#include "cli/new_file.h"
#include "cli/parser.h"
#include "cli/text.h"
#include "cli/trimmed.h"
#include "convert/trim/trim.h"
#include "trace/base/printable.h"
#include "trace/sql/trace_file.h"

namespace dcmt::cli {
namespace {

struct TrimOptions {
  std::string input = kLastRun, from, to, output;
  bool force = false, json = false;
};

/// The sequence number of the point `name`; `otherwise` if it is empty.
Expected<Sequence> sequence_of(const LoadedTrace& trace, const std::string& name, Sequence otherwise) {
  if (name.empty()) return otherwise;
  return analyzer::named_point(*trace.data, trace.path, name, trace.analysis.main().what_if.measured.seq,
                               "--from and --to take");
}

/// Loads the only trace that the path names, and stores the file with its rows in `file`.
Expected<LoadedTrace> load_one(const std::string& input, std::string& file, std::shared_ptr<ScratchFolder>& scratch) {
  DCMT_ASSIGN_OR_RETURN(std::vector<OpenedTrace> opened, open_traces({input}, std::nullopt));
  if (opened.size() != 1) {
    return Error{ErrorCode::kUsage,
                 printable(input) + ": has several traces. Name one of them, as " + opened[0].path + "."};
  }
  file = opened[0].database.path();
  scratch = opened[0].scratch;
  return load_trace(std::move(opened[0]));
}

Status trim(const TrimOptions& options, Trimmed& trimmed) {
  if (options.from.empty() && options.to.empty()) {
    return {ErrorCode::kUsage, "a window needs --from, --to, or both, as --from step:40 --to step:42."};
  }
  std::error_code ignored;
  if (std::filesystem::equivalent(options.input, options.output, ignored)) {
    return {ErrorCode::kUsage, printable(options.output) + ": is the file that is read. Choose another name."};
  }
  NewFile file(options.output);
  DCMT_RETURN_IF_ERROR(file.check(options.force));
  std::string rows;
  std::shared_ptr<ScratchFolder> scratch;
  DCMT_ASSIGN_OR_RETURN(const LoadedTrace trace, load_one(options.input, rows, scratch));
  if (trace.data->meta_text("state") == "recording") {
    return {ErrorCode::kUsage, trace.path + ": is still being recorded. Trim it once that has ended."};
  }
  DCMT_ASSIGN_OR_RETURN(const Sequence from, sequence_of(trace, options.from, Sequence(1)));
  DCMT_ASSIGN_OR_RETURN(const Sequence to, sequence_of(trace, options.to, analyzer::last_sequence(*trace.data)));
  DCMT_ASSIGN_OR_RETURN(const convert::TrimWindow window, convert::trim_window(*trace.data, from, to));
  DCMT_ASSIGN_OR_RETURN(Database source, open_trace(rows));
  {
    const LongWork work(printable(options.output), "writing");
    DCMT_RETURN_IF_ERROR(convert::write_trimmed(source, window, file.part(), work.watch()));
  }
  trimmed.after = window.after;
  trimmed.to = window.to;
  trimmed.steps = window.steps;
  trimmed.stretches = window.stretches;
  trimmed.of = window.of;
  trimmed.bytes = Bytes(static_cast<std::int64_t>(std::filesystem::file_size(file.part(), ignored)));
  return file.keep();
}

int run_trim(const TrimOptions& options) {
  Trimmed trimmed;
  trimmed.input = printable(options.input);
  trimmed.output = printable(options.output);
  if (const Status done = trim(options, trimmed); !done.ok()) return print_error(done.error());
  if (options.json) std::cout << JsonDocument("trim").with(trimmed);
  return kExitOk;
}

}  // namespace

void add_trim_command(Parser app, int& exit_code) {
  Parser command = app.add_subcommand("trim", "Make a small trace of a few steps, with sums of the rest");
  auto options = std::make_shared<TrimOptions>();
  command.add_option("TRACE", options->input, "A trace (*.dcmt); last: the newest run").capture_default_str();
  command.add_option(
      "--from", options->from,
      "Where the window begins: a sequence number, peak, step:N, oom or a mark; without it, with the run");
  command.add_option("--to", options->to, "Where it ends; without it, with the run");
  command.add_option("-o,--output", options->output, "The trace to write").required();
  command.add_flag("--force", options->force, "Replace the file if it is there");
  command.add_flag("--json", options->json, "Say what was written, machine-readable (docs/json.md)");
  command.footer(
      "The new trace has whole steps: those in which --from and --to lie, and all between them.\n"
      "Examples:\n"
      "  dc-memtrace trim out/rank0.dcmt --from step:40 --to step:42 -o three.dcmt   three steps, for a laptop\n"
      "  dc-memtrace trim out/rank0.dcmt --from peak --to peak -o peak.dcmt          the step that has the peak\n"
      "Exit codes: 0 fine, 2 usage, or no such window, 3 bad input, or a file that cannot be written");
  command.callback([options, &exit_code] { exit_code = run_trim(*options); });
}

}  // namespace dcmt::cli
