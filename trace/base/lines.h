// Texts by lines.
#pragma once

#include <string_view>

namespace dcmt {

/// The first line of `text`, without its end, which are removed from `text`.
[[nodiscard]] inline std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
  return line;
}

}  // namespace dcmt
