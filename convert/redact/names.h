// Replaces names: each identifier becomes `name_N`, the same one everywhere. Words of torch, Python and this tool stay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace dcmt::convert {

/// Thread-safety: none.
class Names {
 public:
  /// Replaces a path, a name or a holder's path word by word, and keeps the punctuation.
  [[nodiscard]] std::string without_names(std::string_view text);
  /// Replaces a whole line of source code.
  [[nodiscard]] std::string replaced(std::string_view text);

 private:
  const std::string& name_of(std::string_view word);

  std::unordered_map<std::string, std::string> names_;
};

/// True if `text` is a word that traces define: a kind, a flag, a reason. Texts with commas are lists of such words.
[[nodiscard]] bool is_word_of_traces(std::string_view text);

}  // namespace dcmt::convert
