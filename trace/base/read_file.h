// The whole content of a file, of /proc too.
#pragma once

#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace dcmt {

/// nullopt where the file cannot be opened.
[[nodiscard]] inline std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

}  // namespace dcmt
