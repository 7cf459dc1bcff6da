// The table of commands: the source of the parser, its help and the suggestions.
#pragma once

#include <string>
#include <string_view>

#include "cli/parser.h"

namespace dcmt::cli {

struct Command {
  std::string_view name;
  void (*add)(Parser app, int& exit_code);
};

/// nullptr if there is no such command.
[[nodiscard]] const Command* command_named(std::string_view word);

/// "unknown command 'shwo'. Did you mean show?"
[[nodiscard]] std::string unknown_command(std::string_view word);

}  // namespace dcmt::cli
