// Splits text into lines.
#pragma once

#include <string_view>

namespace dcmt {

/// Removes the first line from `text` and returns it without its line end.
[[nodiscard]] inline std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
  return line;
}

}  // namespace dcmt
