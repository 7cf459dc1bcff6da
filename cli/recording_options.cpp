#include "cli/recording_options.h"

#include <unistd.h>

#include <filesystem>
#include <string>

#include "cli/installation.h"
#include "collector/recorder/console/status_line.h"
#include "collector/recorder/drive/child_process.h"
#include "trace/base/detail.h"

namespace dcmt::cli {

void add_recording_options(Parser command, const std::shared_ptr<recorder::RecordingOptions>& options) {
  options->folder.clear();  // until the program is known
  command.add_option("-o,--output", options->folder,
                     "Folder for the traces, one per process, named by rank; without it dc-memtrace-out/PROGRAM-TIME");
  command
      .add_option_function<std::string>(
          "--detail", [options](const std::string& text) { options->detail = *detail_of(text); },
          "lifetimes: storages from 64 KiB and all released ones; full: all storages, tensors and blocks; operators: "
          "all these, and every operator by name")
      .one_of({"lifetimes", "full", "operators"})
      .default_str(text_of(options->detail));
  command.add_option("--operators", options->operator_tables, "Tables of your gather and release operators (TOML)");
  command
      .add_option(
          "--max-disk", options->retention.max_disk,
          "Most that the trace of a process takes on disk. Once a tenth is used, only some steps are kept in full")
      .byte_size()
      .range(std::int64_t{1} << 20, std::int64_t{1} << 50)
      .type_name("SIZE")
      .default_str("5GiB");
  command
      .add_option(
          "--scratch", options->scratch,
          "Write the traces to a local folder below DIR, and move each to the output folder when it is finished. "
          "Without it only where the output folder is on a network file system: below $SLURM_TMPDIR, $TMPDIR or "
          "/tmp")
      .type_name("DIR");
  command.add_flag("--native", options->native,
                   "Sample what C, C++ and Python's larger objects allocate, with their stacks: a line for host memory "
                   "that grows and is no tensor");
  command.add_option("--spool-mib", options->spool_mib, "Shared memory per recorded process")
      .range_unsigned(1, 4096)
      .capture_default_str();
  command.add_flag("--force", options->replace, "Replace a run that is in the folder");
  command.add_flag("!--no-owners", options->owners,
                   "Do not read the program's memory during the run: it costs less, and no holder is named");
  command.add_flag("-q,--quiet", options->quiet, "No status line");
}

void add_live_option(Parser command, const std::shared_ptr<recorder::RecordingOptions>& options) {
  command.add_flag(
      "--live", options->live,
      "Show the curve of the memory, what has most of it, the ranks, and the findings so far, in the last rows of the "
      "terminal; other output goes on above");
}

void check_live_option(const recorder::RecordingOptions& options) {
  if (!options.live) return;
  if (options.quiet) throw UsageError{"--live shows what --quiet does not"};
  if (recorder::terminal_has_last_rows()) return;
  throw UsageError{
      "--live needs a terminal as standard error. Without it, dc-memtrace report last reads a recording at any time"};
}

void set_installed_paths(recorder::RecordingOptions& options) {
  options.prepared = prepared_folder().string();
  options.layouts = {(data_folder() / "layouts").string(), options.prepared};
  options.shipped_operators = (data_folder() / "operators.toml").string();
}

std::vector<std::string> with_interpreter(std::vector<std::string> command) {
  const std::filesystem::path script(command.front());
  std::error_code ignored;
  if (script.extension() != ".py" || !std::filesystem::is_regular_file(script, ignored)) return command;
  if (script.has_parent_path() && access(script.c_str(), X_OK) == 0) return command;
  command.insert(command.begin(), recorder::check_executable("python") == 0 ? "python" : "python3");
  return command;
}

}  // namespace dcmt::cli
