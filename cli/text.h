// Lines, tables and colours for a terminal. Words: render/wording.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "render/wording/columns.h"
#include "render/wording/words.h"
#include "trace/base/typed_id.h"

namespace dcmt::cli {

using wording::cut;
using wording::duration;
using wording::joined;
using wording::kKernelName;
using wording::left;
using wording::percent;
using wording::ranges;
using wording::right;
using wording::shown_path;
using wording::width;
using wording::wrapped;

/// "finding 1", "findings 1, 3".
[[nodiscard]] std::string findings_name(const std::vector<std::int64_t>& numbers);

/// The form of text: colour only on a terminal, line width of that terminal, exact or rounded bytes.
struct Style {
  bool colour = false;
  bool exact = false;       ///< bytes are "12,589,056 B" instead of "12.0 MiB"
  std::size_t columns = 0;  ///< lines are wrapped at this width; 0: no limit, for example for a pipe

  [[nodiscard]] wording::Form form() const { return {.exact = exact}; }
  [[nodiscard]] std::string bytes(Bytes bytes) const { return form().bytes(bytes); }

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

/// Wraps lines that are longer than the style's columns. Continuations are indented to the begin of the line's text.
[[nodiscard]] std::string folded(std::string_view text, const Style& style);

/// A line of a finding, with a label.
[[nodiscard]] std::string labelled(std::string_view label, std::string_view text, const Style& style);
[[nodiscard]] std::string lines_of(const wording::LabelledLines& facts, const Style& style);

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
