// Numbers, tables and colours as a person reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/quantities.h"
#include "trace/base/typed_id.h"

namespace dcmt::cli {

using model::counted;
using model::exact_bytes;
using model::grouped;
using model::rounded_bytes;

/// "83.3 %" (digits = 1), "83 %" (digits = 0).
[[nodiscard]] std::string percent(double share, int digits);
/// "5.2 ms".
[[nodiscard]] std::string duration(std::int64_t ns);
/// Characters on the screen: UTF-8 code points, without what sets a colour.
[[nodiscard]] std::size_t width(std::string_view text);
/// At most `longest` bytes, with "…" in place of what was cut off.
[[nodiscard]] std::string cut(std::string_view text, std::size_t longest);
/// Of a kernel's name, which templates make long.
inline constexpr std::size_t kKernelName = 88;
/// "e7/ce7ijykp….py": a file's folder and name; of a name that is a hash, as generated code has it, its beginning.
[[nodiscard]] std::string shown_path(std::string_view path);
/// Padded with spaces to at least `columns` characters.
[[nodiscard]] std::string left(std::string_view text, std::size_t columns);
[[nodiscard]] std::string right(std::string_view text, std::size_t columns);
/// "0 to 11", "0, 2, 5", "0 to 3, 7"; of a long list the beginning, how many more and the last.
[[nodiscard]] std::string ranges(std::vector<std::int64_t> numbers);

/// "a, b, c".
[[nodiscard]] std::string joined(const std::vector<std::string>& parts, std::string_view separator);
/// "finding 1", "findings 1, 3".
[[nodiscard]] std::string findings_name(const std::vector<std::int64_t>& numbers);

/// How text is shown: colour only on a terminal, lines as wide as that terminal, bytes as was asked.
struct Style {
  bool colour = false;
  bool exact = false;       ///< bytes are "12,589,056 B" instead of "12.0 MiB"
  std::size_t columns = 0;  ///< lines are folded to so many; 0: lines have any length, as into a pipe

  [[nodiscard]] std::string bytes(Bytes bytes) const {
    return exact ? exact_bytes(bytes.value) : rounded_bytes(bytes.value);
  }

  [[nodiscard]] std::string bold(std::string_view text) const { return paint("1", text); }
  [[nodiscard]] std::string bad(std::string_view text) const { return paint("1;31", text); }
  [[nodiscard]] std::string good(std::string_view text) const { return paint("32", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return paint("2", text); }

  /// Of standard output: colour on a terminal if NO_COLOR is not set; lines as wide as the terminal, 80 columns at
  /// least and 120 at most.
  static Style of_stdout(bool exact = false);

 private:
  [[nodiscard]] std::string paint(std::string_view code, std::string_view text) const;
};

/// The text in pieces of at most `columns` characters, cut at spaces where there are any. `columns` is not 0.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, std::size_t columns);
/// Lines that are longer than the style's columns go on in the next line, below where their text begins.
[[nodiscard]] std::string folded(std::string_view text, const Style& style);

/// A line of a finding.
[[nodiscard]] std::string labelled(std::string_view label, std::string_view text, const Style& style);

/// Lines of cells; columns are as wide as their widest cell, two spaces apart. A column whose cells are numbers should
/// be marked right-aligned. Where the lines are too long for the style, the last column is wrapped.
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
