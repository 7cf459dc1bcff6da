#include "cli/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace dcmt::cli {
namespace {

constexpr std::size_t kNarrowest = 80;
constexpr std::size_t kWidest = 120;

/// The columns of the terminal on standard output, limited to readable values; 0 if it is no terminal.
std::size_t columns_of_stdout() {
  if (isatty(STDOUT_FILENO) != 1) return 0;
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? std::clamp<std::size_t>(size.ws_col, kNarrowest, kWidest) : kNarrowest;
}

/// The indent of a line's continuation: after its label, else below its first word.
std::size_t hanging_indent(std::string_view line, std::size_t columns) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = line.find("  ", first);
  if (gap != std::string_view::npos) {
    const std::size_t text = line.find_first_not_of(' ', gap);
    if (text != std::string_view::npos && width(line.substr(0, text)) <= columns / 3)
      return width(line.substr(0, text));
  }
  constexpr std::size_t kLongestLabel = 10;
  const std::size_t colon = line.find(": ", first);
  const bool label = colon < first + kLongestLabel && line.substr(first, colon - first).find(' ') == std::string::npos;
  return label ? colon + 2 : first;
}

}  // namespace

std::string folded(std::string_view text, const Style& style) {
  if (style.columns == 0) return std::string(text);
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (width(line) <= style.columns) {
      result += line;
    } else {
      const std::size_t indent = hanging_indent(line, style.columns);
      const std::vector<std::string> first = wrapped(line, style.columns);
      result += first.front();
      const std::size_t rest = line.find_first_not_of(' ', first.front().size());
      if (rest != std::string_view::npos) {
        for (const std::string& more : wrapped(line.substr(rest), style.columns - indent))
          result += "\n" + std::string(indent, ' ') + more;
      }
    }
    if (end < text.size()) result += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string findings_name(const std::vector<std::int64_t>& numbers) {
  return (numbers.size() == 1 ? "finding " : "findings ") + fmt::format("{}", fmt::join(numbers, ", "));
}

Style Style::of_stdout(bool exact) {
  const char* no_colour = std::getenv("NO_COLOR");
  const std::size_t columns = columns_of_stdout();
  return {columns != 0 && (no_colour == nullptr || *no_colour == '\0'), exact, columns};
}

std::string Style::paint(std::string_view code, std::string_view text) const {
  return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string labelled(std::string_view label, std::string_view text, const Style& style) {
  constexpr std::size_t kLabel = 12;  // columns
  return "   " + style.dim(left(label, kLabel)) + std::string(text) + "\n";
}

std::string lines_of(const wording::LabelledLines& facts, const Style& style) {
  std::string text;
  for (const wording::LabelledLine& fact : facts) text += labelled(fact.label, fact.text, style);
  return text;
}

Table::Table(std::vector<std::string> head, std::vector<bool> right_aligned)
    : head_(std::move(head)), right_(std::move(right_aligned)) {}

void Table::add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

std::string Table::text(const Style& style, std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < head_.size(); ++column) {
    std::size_t widest = width(head_[column]);
    for (const auto& row : rows_) widest = std::max(widest, width(row[column]));
    widths.push_back(widest);
  }
  constexpr std::size_t kLeastWrapped = 20;  // columns; narrower text is unreadable
  std::size_t before_last = indent.size() + 2 * (head_.size() - 1);
  for (std::size_t column = 0; column + 1 < head_.size(); ++column) before_last += widths[column];
  const bool wraps = !right_.back() && style.columns >= before_last + kLeastWrapped;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text(indent);
    for (std::size_t column = 0; column + 1 < cells.size(); ++column) {
      text += (right_[column] ? right(cells[column], widths[column]) : left(cells[column], widths[column])) + "  ";
    }
    if (right_.back()) {
      text += right(cells.back(), widths.back());
    } else if (wraps) {
      const std::vector<std::string> pieces = wrapped(cells.back(), style.columns - before_last);
      for (std::size_t i = 0; i < pieces.size(); ++i)
        text += (i == 0 ? "" : "\n" + std::string(before_last, ' ')) + pieces[i];
    } else {
      text += cells.back();
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  std::string text = style.dim(line(head_)) + "\n";
  for (const auto& row : rows_) text += line(row) + "\n";
  return text;
}

}  // namespace dcmt::cli
