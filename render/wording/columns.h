// Text in a font whose characters are equally wide.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dcmt::wording {

/// Number of characters on the screen: UTF-8 code points, without colour sequences.
[[nodiscard]] std::size_t width(std::string_view text);
/// Padded with spaces to at least `columns` characters.
[[nodiscard]] std::string left(std::string_view text, std::size_t columns);
[[nodiscard]] std::string right(std::string_view text, std::size_t columns);
/// The text in pieces of at most `columns` characters, split at spaces if there are any. `columns` must not be 0.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

}  // namespace dcmt::wording
