#include "trace/base/shell_words.h"

#include <algorithm>

namespace dcmt {

std::string in_quotes(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_word(std::string_view word) {
  const auto has_meaning = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' ||
           std::string_view("\"'\\$`&|;<>()*?[]#~!{}").find(c) != std::string_view::npos;
  };
  const bool plain = !word.empty() && std::ranges::none_of(word, has_meaning);
  return plain ? std::string(word) : in_quotes(word);
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

}  // namespace dcmt
