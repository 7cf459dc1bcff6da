#include "render/wording/columns.h"

#include <algorithm>

namespace dcmt::wording {
namespace {

/// The length in bytes of the colour sequence or UTF-8 character at the begin of `text`, which must not be empty.
std::size_t first_length(std::string_view text) {
  if (text.front() == '\x1b') return std::min(text.find('m'), text.size() - 1) + 1;
  std::size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xC0u) == 0x80u) ++length;
  return length;
}

}  // namespace

std::size_t width(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    columns += text[at] == '\x1b' ? 0 : 1;
    at += first_length(text.substr(at));
  }
  return columns;
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

}  // namespace dcmt::wording
