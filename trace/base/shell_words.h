// Quotes words for a shell where the shell would interpret them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dcmt {

/// `word` in a shell's single quotes.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// `word`, in quotes where it needs them.
[[nodiscard]] std::string shell_word(std::string_view word);

/// The words of a command, with spaces between them.
[[nodiscard]] std::string shell_words(const std::vector<std::string>& words);

}  // namespace dcmt
