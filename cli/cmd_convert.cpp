#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/inputs.h"
#include "cli/long_work.h"
#include "cli/new_file.h"
#include "convert/snapshot/snapshot_trace.h"
#include "trace/base/printable.h"

namespace dcmt::cli {
namespace {

struct Options {
  std::string input, to, output;
  bool force = false;
};

/// A trace of a memory snapshot.
Status write_trace(const Options& options, const std::string& path) {
  if (!convert::is_pickle(options.input)) {
    return {ErrorCode::kUsage, printable(options.input) + ": only a memory snapshot of torch becomes a trace."};
  }
  const LongWork work(printable(options.input));
  DCMT_ASSIGN_OR_RETURN(const convert::MemorySnapshot snapshot, convert::read_snapshot(options.input));
  return convert::write_snapshot_trace(snapshot, path, work.watch());
}

Status convert_file(const Options& options) {
  NewFile file(options.output);
  DCMT_RETURN_IF_ERROR(file.check(options.force));
  DCMT_RETURN_IF_ERROR(write_trace(options, file.part()));
  return file.keep();
}

int run_convert(const Options& options) {
  const Status done = convert_file(options);
  return done.ok() ? kExitOk : print_error(done.error());
}

}  // namespace

void add_convert_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("convert", "Memory snapshots of torch as traces");
  auto options = std::make_shared<Options>();
  command->add_option("FILE", options->input, "A memory snapshot of torch (a pickle)")->required();
  command->add_option("--to", options->to, "What to write: trace")->required()->check(CLI::IsMember({"trace"}));
  command->add_option("-o,--output", options->output, "The file to write")->required();
  command->add_flag("--force", options->force, "Replace the file if it is there");
  command->footer(
      "Examples:\n"
      "  dc-memtrace convert snapshot.pickle --to trace -o snapshot.dcmt   what torch dumped, as a trace");
  command->callback([options, &exit_code] { exit_code = run_convert(*options); });
}

}  // namespace dcmt::cli
