#include <iostream>

#include "cli/commands.h"

namespace dcmt::cli {

int print_error(const Error& error) {
  std::cerr << "dc-memtrace: " << error.message << "\n";
  return exit_code_of(error.code);
}

}  // namespace dcmt::cli
