// Reads the whole content of a file, including files of /proc.
#pragma once

#include <optional>
#include <string>

namespace dcmt {

/// nullopt if the file cannot be opened or read; errno has the reason. Streams of the standard library are not used:
/// they throw if a file of /proc becomes unreadable after it was opened, because its process ended.
[[nodiscard]] std::optional<std::string> read_file(const std::string& path);

}  // namespace dcmt
