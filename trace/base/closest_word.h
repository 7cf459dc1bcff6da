// The word that a misspelt one may mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dcmt {

/// The word that begins with `misspelt`, or has at most two typing errors less; empty if there is none.
[[nodiscard]] std::string closest_word(std::string_view misspelt, const std::vector<std::string>& words);

/// " Did you mean WORD?", to stand behind a sentence; empty if there is no such word.
[[nodiscard]] std::string did_you_mean(std::string_view misspelt, const std::vector<std::string>& words);

}  // namespace dcmt
