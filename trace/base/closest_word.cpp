#include "trace/base/closest_word.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace dcmt {
namespace {

constexpr std::size_t kLongest = 64;

/// How many letters differ, where two neighbours that changed places count once; kLongest if a word is longer.
std::size_t typing_errors(std::string_view word, std::string_view other) {
  if (word.size() >= kLongest || other.size() >= kLongest) return kLongest;
  std::array<std::array<std::size_t, kLongest>, kLongest> errors{};
  for (std::size_t i = 0; i <= word.size(); ++i) {
    for (std::size_t j = 0; j <= other.size(); ++j) {
      if (i == 0 || j == 0) {
        errors[i][j] = i + j;
        continue;
      }
      const bool same = word[i - 1] == other[j - 1];
      errors[i][j] = std::min({errors[i - 1][j] + 1, errors[i][j - 1] + 1, errors[i - 1][j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && word[i - 1] == other[j - 2] && word[i - 2] == other[j - 1];
      if (swapped) errors[i][j] = std::min(errors[i][j], errors[i - 2][j - 2] + 1);
    }
  }
  return errors[word.size()][other.size()];
}

}  // namespace

std::string closest_word(std::string_view misspelt, const std::vector<std::string>& words) {
  constexpr std::size_t kMostErrors = 2;
  // A word of which half the letters differ is another word.
  std::size_t fewest = std::min(kMostErrors, misspelt.size() / 2) + 1;
  std::string closest;
  for (const std::string& word : words) {
    const bool is_begin = misspelt.size() > 1 && word.starts_with(misspelt);
    const std::size_t errors = is_begin ? 1 : typing_errors(misspelt, word);
    if (errors >= fewest) continue;
    fewest = errors;
    closest = word;
  }
  return closest;
}

std::string did_you_mean(std::string_view misspelt, const std::vector<std::string>& words) {
  const std::string closest = closest_word(misspelt, words);
  return closest.empty() ? "" : " Did you mean " + closest + "?";
}

}  // namespace dcmt
