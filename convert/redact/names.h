// Names without what they say: each identifier becomes `name_N`, the same one wherever it stands; words of torch,
// Python and this tool stay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace dcmt::convert {

/// Thread-safety: none.
class Names {
 public:
  /// A path, a name, a holder's path: word by word, with the punctuation between them.
  [[nodiscard]] std::string without_names(std::string_view text);
  /// A line of somebody's source, of which nothing stays.
  [[nodiscard]] std::string replaced(std::string_view text);

 private:
  const std::string& name_of(std::string_view word);

  std::unordered_map<std::string, std::string> names_;
};

/// Whether `text` is a word of a trace's own: a kind, a flag, a reason. Texts with commas are lists of such.
[[nodiscard]] bool is_word_of_traces(std::string_view text);

}  // namespace dcmt::convert
