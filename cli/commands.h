// The commands of dc-memtrace. Each adds itself to the parser. The callback of the called command stores the process's
// exit code in `exit_code`. Errors go to standard error as one line.
#pragma once

#include <string>
#include <vector>

#include "cli/exit_codes.h"
#include "cli/parser.h"
#include "trace/base/status.h"

namespace dcmt::cli {

void add_report_command(Parser app, int& exit_code);
void add_show_command(Parser app, int& exit_code);
void add_diff_command(Parser app, int& exit_code);
void add_check_command(Parser app, int& exit_code);
void add_convert_command(Parser app, int& exit_code);
void add_doctor_command(Parser app, int& exit_code);
void add_view_command(Parser app, int& exit_code);
void add_trim_command(Parser app, int& exit_code);

void add_snapshot_command(Parser app, int& exit_code);
void add_lint_command(Parser app, int& exit_code);
void add_reproduce_command(Parser app, int& exit_code);
void add_prove_command(Parser app, int& exit_code);
/// In cmd_attach.cpp, with the next one.
void add_attach_command(Parser app, int& exit_code);
void add_detach_command(Parser app, int& exit_code);
void add_status_command(Parser app, int& exit_code);
/// In cmd_run.cpp, with the next one.
void add_run_command(Parser app, int& exit_code);
/// The first "--" of the command line and all words after it. They belong to another program; no parser may read them.
std::vector<std::string>& words_from_dashes();

/// Adds every command to `app`, in the order of its help.
void add_all_commands(Parser app, int& exit_code);

inline constexpr char kBytesHelp[] = "Exact bytes, 12,589,056 B instead of 12.0 MiB";

/// Prints "dc-memtrace: <message>" on standard error. Returns the exit code of the error.
int print_error(const Error& error);
/// Prints "dc-memtrace: <note>" on standard error.
void print_note(const std::string& note);

}  // namespace dcmt::cli
