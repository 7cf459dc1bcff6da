// Reads the output of other programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dcmt::cli {

/// The standard output of a program that exits with 0; nullopt if it cannot be started or exits otherwise. `program` is
/// searched in PATH. Its standard error goes to /dev/null. Waits for its end.
[[nodiscard]] std::optional<std::string> output_of(const std::string& program,
                                                   const std::vector<std::string>& arguments);

/// nullopt if the program exits with 0; else the last line of its standard error, which says why it failed. Its
/// standard output goes to /dev/null. Waits for its end.
[[nodiscard]] std::optional<std::string> failure_of(const std::string& program,
                                                    const std::vector<std::string>& arguments);

}  // namespace dcmt::cli
