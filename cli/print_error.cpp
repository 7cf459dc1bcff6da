#include <iostream>
#include <string>

#include "cli/commands.h"
#include "trace/base/printable.h"

namespace dcmt::cli {

int print_error(const Error& error) {
  std::cerr << "dc-memtrace: " << printable(error.message) << "\n";
  return exit_code_of(error.code);
}

void print_note(const std::string& note) { std::cerr << "dc-memtrace: " << printable(note) << "\n"; }

}  // namespace dcmt::cli
