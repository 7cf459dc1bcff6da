#include <iostream>
#include <string>

#include "cli/commands.h"
#include "cli/default_folder.h"
#include "cli/parser.h"
#include "cli/show_view.h"
#include "cli/text.h"
#include "trace/base/shell_words.h"

namespace dcmt::cli {
namespace {

/// The output of `show` alone: its views, and the commands for the newest run.
std::string overview(Parser show) {
  std::string text = "Views of a trace:\n";
  for (const Parser& view : show.subcommands()) text += "  " + left(view.name(), 10) + view.description() + "\n";
  const Expected<std::string> run = newest_run();
  return text + "next: dc-memtrace show peak " + (run.ok() ? shell_word(*run) : "PATH") + "\n";
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

  add_curve_view(command, exit_code);
  add_storage_views(command, exit_code);
  add_process_views(command, exit_code);
  add_gpu_views(command, exit_code);
  add_ranks_view(command, exit_code);
}

}  // namespace dcmt::cli
