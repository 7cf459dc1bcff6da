#include "cli/text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace dcmt::cli {

std::string percent(double share, int digits) { return fmt::format("{:.{}f} %", share * 100, digits); }

std::string duration(std::int64_t ns) {
  const double value = static_cast<double>(ns);
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.1f} µs", value * 1e-3);
  if (ns < 1'000'000'000) return fmt::format("{:.1f} ms", value * 1e-6);
  return fmt::format("{:.1f} s", value * 1e-9);
}

std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }));
}

std::string cut(std::string_view text, std::size_t longest) {
  if (text.size() <= longest) return std::string(text);
  // Not within a UTF-8 character.
  while (longest > 0 && (static_cast<unsigned char>(text[longest]) & 0xC0u) == 0x80u) --longest;
  return std::string(text.substr(0, longest)) + "…";
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
  std::size_t told = 0;  // of the numbers, by all parts but the last one that a long list shows
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t j = i;
    while (j + 1 < numbers.size() && numbers[j + 1] == numbers[j] + 1) ++j;
    if (j == i + 1) j = i;  // two in a row are no range
    parts.push_back(std::to_string(numbers[i]) + (j > i ? " to " + std::to_string(numbers[j]) : ""));
    i = j + 1;
    if (parts.size() < kMost) told = i;
  }
  if (parts.size() <= kMost) return fmt::format("{}", fmt::join(parts, ", "));
  parts.resize(kMost - 1);
  return fmt::format("{} and {} more up to {}", fmt::join(parts, ", "), numbers.size() - told, numbers.back());
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string findings_name(const std::vector<std::int64_t>& numbers) {
  return (numbers.size() == 1 ? "finding " : "findings ") + fmt::format("{}", fmt::join(numbers, ", "));
}

Style Style::of_stdout() {
  const char* no_colour = std::getenv("NO_COLOR");
  return {isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0')};
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
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text(indent);
    for (std::size_t column = 0; column < cells.size(); ++column) {
      if (column > 0) text += "  ";
      text += right_[column] ? right(cells[column], widths[column]) : left(cells[column], widths[column]);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  };
  std::string text = style.dim(line(head_)) + "\n";
  for (const auto& row : rows_) text += line(row) + "\n";
  return text;
}

}  // namespace dcmt::cli
