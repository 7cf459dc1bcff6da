#include "trace/base/printable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dcmt {
namespace {

unsigned char byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

/// A character of UTF-8: its code point and its length in bytes; 0 bytes if none begins there.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

Character character_at(std::string_view text, std::size_t at) {
  struct Form {
    unsigned char mask, lead;
    std::uint32_t least;  ///< a smaller code point has a shorter form
  };
  static constexpr Form kForms[] = {{0x80, 0x00, 0}, {0xE0, 0xC0, 0x80}, {0xF0, 0xE0, 0x800}, {0xF8, 0xF0, 0x10000}};
  for (std::size_t more = 0; more < std::size(kForms); ++more) {
    const Form& form = kForms[more];
    if ((byte_at(text, at) & form.mask) != form.lead) continue;
    if (more >= text.size() - at) return {};
    std::uint32_t code = byte_at(text, at) & static_cast<unsigned char>(~form.mask);
    for (std::size_t i = 1; i <= more; ++i) {
      const unsigned char next = byte_at(text, at + i);
      if ((next & 0xC0u) != 0x80u) return {};
      code = code << 6 | (next & 0x3Fu);
    }
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    if (code < form.least || surrogate || code > 0x10FFFF) return {};
    return {code, more + 1};
  }
  return {};
}

bool is_harmless(std::uint32_t code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return false;  // control characters
  if (code >= 0x200B && code <= 0x200F) return false;              // without a width, marks of direction
  if (code >= 0x2028 && code <= 0x202E) return false;              // separators of lines, changes of direction
  if (code >= 0x2060 && code <= 0x206F) return false;              // the same
  return code != 0xFEFF && code != 0x061C;
}

std::string escaped(std::string_view text, bool keep_lines) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto plain = [](char c) { return c >= 0x20 && c < 0x7F; };
  if (std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  std::string safe;
  safe.reserve(text.size() + 16);
  for (std::size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    const std::size_t bytes = std::max<std::size_t>(character.bytes, 1);
    const bool line = keep_lines && (text[at] == '\n' || text[at] == '\t');
    if (line || (character.bytes != 0 && is_harmless(character.code))) {
      safe += text.substr(at, bytes);
    } else {
      for (std::size_t i = at; i < at + bytes; ++i) {
        const unsigned char byte = byte_at(text, i);
        safe += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
      }
    }
    at += bytes;
  }
  return safe;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, false); }

std::string printable_lines(std::string_view text) { return escaped(text, true); }

}  // namespace dcmt
