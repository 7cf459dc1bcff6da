// Makes text from outside (a trace, a spool, a file's name) safe to print on one line.
#pragma once

#include <string>
#include <string_view>

namespace dcmt {

/// `text` with `\xNN` in place of each byte that does more than show a character: control characters (newlines and tabs
/// too), bytes that are not UTF-8, and characters that reorder or hide their neighbours. The result is valid UTF-8.
/// Text without such bytes is returned unchanged.
[[nodiscard]] std::string printable(std::string_view text);

/// The same for a text of several lines: newlines and tabs stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

}  // namespace dcmt
