// Text that came from somewhere else (a trace, a spool, a file's name), made safe to print on one line.
#pragma once

#include <string>
#include <string_view>

namespace dcmt {

/// `text` with `\xNN` in place of each byte that could do more than show a character: control characters (newlines and
/// tabs too), bytes that are no UTF-8, and characters that reorder or hide what stands beside them. The result is valid
/// UTF-8. Text without any of these is returned as it is.
[[nodiscard]] std::string printable(std::string_view text);

/// The same for a text of several lines: newlines and tabs stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

}  // namespace dcmt
