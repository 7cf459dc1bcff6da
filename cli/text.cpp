#include "cli/text.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <vector>

#include "trace/base/code_path.h"

namespace dcmt::cli {
namespace {

constexpr std::size_t kNarrowest = 80;
constexpr std::size_t kWidest = 120;

/// The length in bytes of the colour sequence or UTF-8 character at the begin of `text`, which must not be empty.
std::size_t first_length(std::string_view text) {
  if (text.front() == '\x1b') return std::min(text.find('m'), text.size() - 1) + 1;
  std::size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0u) == 0x80u) ++length;
  return length;
}

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

std::string percent(double share, int digits) { return fmt::format("{:.{}f} %", share * 100, digits); }

std::string duration(std::int64_t ns) {
  const double value = static_cast<double>(ns);
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.1f} µs", value * 1e-3);
  if (ns < 1'000'000'000) return fmt::format("{:.1f} ms", value * 1e-6);
  return fmt::format("{:.1f} s", value * 1e-9);
}

std::size_t width(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    columns += text[at] == '\x1b' ? 0 : 1;
    at += first_length(text.substr(at));
  }
  return columns;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  while (width(text) > columns) {
    std::size_t end = 0;
    std::size_t space = 0;  // the last space with something before it
    for (std::size_t used = 0; used < columns;) {
      used += text[end] == '\x1b' ? 0 : 1;
      end += first_length(text.substr(end));
      if (text[end] == ' ' && text.find_first_not_of(' ') < end) space = end;
    }
    const std::size_t cut_at = space != 0 ? space : end;
    lines.emplace_back(text.substr(0, cut_at));
    lines.back().erase(lines.back().find_last_not_of(' ') + 1);
    text.remove_prefix(std::min(text.find_first_not_of(' ', cut_at), text.size()));
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

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

std::string cut(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return std::string(text);
  // Do not cut within a UTF-8 character.
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0u) == 0x80u) --longest;
  return std::string(text.substr(0, longest)) + "…";
}

std::string shown_path(std::string_view path) {
  constexpr std::size_t kHash = 32;  // letters and digits; no person gives a file such a name
  constexpr std::size_t kShown = 8;
  std::string text(short_path(path));
  const std::size_t name = text.rfind('/') + 1;  // 0 if there is no folder
  const std::size_t end = std::min(text.find('.', name), text.size());
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0; };
  const auto at = [&](std::size_t position) { return text.begin() + static_cast<std::ptrdiff_t>(position); };
  if (end - name >= kHash && std::all_of(at(name), at(end), plain)) text.replace(at(name + kShown), at(end), "…");
  return text;
}

std::string left(std::string_view text, std::size_t columns) {
  std::string padded(text);
  if (const std::size_t has = width(text); has < columns) padded.append(columns - has, ' ');
  return padded;
}

std::string right(std::string_view text, std::size_t columns) {
  const std::size_t has = width(text);
  return std::string(has < columns ? columns - has : 0, ' ') + std::string(text);
}

std::string ranges(std::vector<std::int64_t> numbers) {
  constexpr std::size_t kMost = 8;
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<std::string> parts;
  std::size_t listed = 0;  // numbers in all parts except the last one that a long list shows
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    if (j == i + 1) j = i;  // two consecutive numbers are no range
    parts.push_back(std::to_string(numbers[i]) + (j > i ? " to " + std::to_string(numbers[j]) : ""));
    i = j + 1;
    if (parts.size() < kMost) listed = i;
  }
  if (parts.size() <= kMost) return fmt::format("{}", fmt::join(parts, ", "));
  parts.resize(kMost - 1);
  return fmt::format("{} and {} more up to {}", fmt::join(parts, ", "), numbers.size() - listed, numbers.back());
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
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
