// Lines of a layout file: words separated by single spaces.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/base/lines.h"

namespace dcmt::scan {

/// Removes the next line from `text` and returns its words.
[[nodiscard]] inline std::vector<std::string_view> next_line_words(std::string_view& text) {
  std::string_view line = next_line(text);
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    if (!word.empty()) words.push_back(word);
    line.remove_prefix(word.size() == line.size() ? word.size() : word.size() + 1);
  }
  return words;
}

/// True if `word` is a whole decimal number; stores it in `value`.
[[nodiscard]] inline bool decimal(std::string_view word, std::int64_t& value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

}  // namespace dcmt::scan
