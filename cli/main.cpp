#include <fcntl.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include "cli/command_table.h"
#include "cli/commands.h"
#include "cli/manual.h"
#include "cli/misspelt.h"
#include "cli/parser.h"
#include "trace/base/printable.h"

namespace {

using dcmt::cli::add_all_commands;

using dcmt::ErrorCode;
using dcmt::cli::Command;
using dcmt::cli::command_named;
using dcmt::cli::kExitOk;
using dcmt::cli::kExitUsage;
using dcmt::cli::print_error;
using dcmt::cli::words_from_dashes;

/// If standard input, output or error is closed, the next opened file would get its number, and printed text would go
/// there. The descriptor opened here instead can be neither read nor written. A started job has it closed as before.
void hold_closed_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0) open("/", O_PATH | O_CLOEXEC);
  }
}

/// Output may still be buffered: a full disk must not look like success.
int checked_output(int exit_code) {
  errno = 0;
  if (std::cout.flush()) return exit_code;
  const std::string why = errno != 0 ? std::strerror(errno) : "it cannot be written to";
  return print_error({ErrorCode::kIo, "standard output: " + why + ". The output is not complete."});
}

int usage_error(const std::string& message, const std::string& help) {
  const bool ended = message.ends_with('.') || message.ends_with('?');
  std::cerr << "dc-memtrace: " << dcmt::printable(message) << (ended ? "" : ".") << " See: " << help << " --help\n";
  return kExitUsage;
}

/// @param message  says what is wrong, if every word has a meaning
int usage_error_of(const CLI::App& app, const std::string& message) {
  const CLI::App* called = &app;  // the deepest subcommand that was named
  std::string words = "dc-memtrace";
  while (!called->get_subcommands().empty()) {
    called = called->get_subcommands().front();
    words += " " + called->get_name();
  }
  return usage_error(dcmt::cli::misspelt(*called).value_or(message), words);
}

int dispatch(int argc, char** argv) {
  int exit_code = kExitOk;
  CLI::App app(
      "Memory profiler for PyTorch: what stays in memory longer than needed, who holds it, and the peak without it",
      "dc-memtrace");
  app.set_version_flag("--version", "dc-memtrace " DCMT_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  dc-memtrace run train.py\n"
      "  dc-memtrace report last\n"
      "  dc-memtrace show\n\n"
      "Exit codes: 0 fine, 1 findings (where asked to fail), 2 usage, 3 bad input, 4 cannot record, 5 not comparable,\n"
      "6 no verdict, 7 the checked command failed, 130 stopped by Ctrl-C");
  // Only the called command adds its options; those of the others are not needed.
  const Command* const only = argc >= 2 ? command_named(argv[1]) : nullptr;
  const dcmt::cli::Parser parser(&app);
  only != nullptr ? only->add(parser, exit_code) : add_all_commands(parser, exit_code);

  if (argc < 2) {
    std::cout << app.help();
    return kExitUsage;
  }
  if (argc == 3 && argv[1] == std::string_view("--write-manual")) {  // at build
    const dcmt::Status written = dcmt::cli::write_manual(app, argv[2]);
    return written.ok() ? static_cast<int>(kExitOk) : print_error(written.error());
  }
  if (const std::string_view word = argv[1]; !word.starts_with("-") && only == nullptr) {
    return usage_error(dcmt::cli::unknown_command(word), "dc-memtrace");
  }
  // These words belong to the job. For the other commands, the parser's meaning of "--" is right.
  if (const std::string_view word = argv[1]; word == "run" || word == "check" || word == "prove") {
    char** dashes = std::find(argv, argv + argc, std::string_view("--"));
    words_from_dashes().assign(dashes, argv + argc);
    argc = static_cast<int>(dashes - argv);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return usage_error_of(app, error.what());
  } catch (const dcmt::cli::UsageError& error) {
    return usage_error_of(app, error.message);
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  hold_closed_descriptors();
  try {
    return checked_output(dispatch(argc, argv));
  } catch (const std::exception&) {
    // Only running out of memory leads here.
    std::fprintf(stderr, "dc-memtrace: there is not enough memory for this.\n");
    return dcmt::cli::kExitBadInput;
  }
}
