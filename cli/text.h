// Numbers, tables and colours as text for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/quantities.h"
#include "trace/base/typed_id.h"

namespace dcmt::cli {

/// "83.3 %" (digits = 1), "83 %" (digits = 0).
[[nodiscard]] std::string percent(double share, int digits);
/// "5.2 ms".
[[nodiscard]] std::string duration(std::int64_t ns);
/// Number of characters on the screen: UTF-8 code points, without colour sequences.
[[nodiscard]] std::size_t width(std::string_view text);
/// At most `longest` bytes, with "…" in place of the rest.
[[nodiscard]] std::string cut(std::string_view text, std::size_t longest);
/// The maximum length of a kernel's name, which templates can make long.
inline constexpr std::size_t kKernelName = 88;
/// "e7/ce7ijykp….py": the folder and name of a file. Names that are hashes, as in generated code, are shortened.
[[nodiscard]] std::string shown_path(std::string_view path);
/// Padded with spaces to at least `columns` characters.
[[nodiscard]] std::string left(std::string_view text, std::size_t columns);
[[nodiscard]] std::string right(std::string_view text, std::size_t columns);
/// "0 to 11", "0, 2, 5", "0 to 3, 7". A long list shows its beginning, the number of omitted values and the last value.
[[nodiscard]] std::string ranges(std::vector<std::int64_t> numbers);

/// "a, b, c".
[[nodiscard]] std::string joined(const std::vector<std::string>& parts, std::string_view separator);
/// "finding 1", "findings 1, 3".
[[nodiscard]] std::string findings_name(const std::vector<std::int64_t>& numbers);

/// The form of text: colour only on a terminal, line width of that terminal, exact or rounded bytes.
struct Style {
  bool colour = false;
  bool exact = false;       ///< bytes are "12,589,056 B" instead of "12.0 MiB"
  std::size_t columns = 0;  ///< lines are wrapped at this width; 0: no limit, for example for a pipe

  [[nodiscard]] std::string bytes(Bytes bytes) const {
    return exact ? exact_bytes(bytes.value) : rounded_bytes(bytes.value);
  }

  [[nodiscard]] std::string bold(std::string_view text) const { return paint("1", text); }
  [[nodiscard]] std::string bad(std::string_view text) const { return paint("1;31", text); }
  [[nodiscard]] std::string good(std::string_view text) const { return paint("32", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return paint("2", text); }

  /// The style of standard output: colour on a terminal if NO_COLOR is not set; the line width of the terminal, at
  /// least 80 and at most 120 columns.
  static Style of_stdout(bool exact = false);

 private:
  [[nodiscard]] std::string paint(std::string_view code, std::string_view text) const;
};

/// The text in pieces of at most `columns` characters, split at spaces if there are any. `columns` must not be 0.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t columns);
/// Wraps lines that are longer than the style's columns. Continuations are indented to the begin of the line's text.
[[nodiscard]] std::string folded(std::string_view text, const Style& style);

/// A line of a finding, with a label.
[[nodiscard]] std::string labelled(std::string_view label, std::string_view text, const Style& style);

/// Lines of cells. Columns are as wide as their widest cell and two spaces apart. Columns with numbers should be marked
/// as right-aligned. If the lines are too long for the style, the last column is wrapped.
class Table {
 public:
  explicit Table(std::vector<std::string> head, std::vector<bool> right_aligned);
  void add(std::vector<std::string> cells);
  [[nodiscard]] std::string text(const Style& style, std::string_view indent) const;
  [[nodiscard]] bool empty() const { return rows_.empty(); }

 private:
  std::vector<std::string> head_;
  std::vector<bool> right_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace dcmt::cli
