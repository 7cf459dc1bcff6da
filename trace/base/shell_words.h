// Words as a person types them into a shell: those that a shell would read otherwise stand in quotes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dcmt {

/// In single quotes of a shell.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// `word`, in quotes where it needs them.
[[nodiscard]] std::string shell_word(std::string_view word);

/// The words of a command, with spaces between them.
[[nodiscard]] std::string shell_words(const std::vector<std::string>& words);

}  // namespace dcmt
