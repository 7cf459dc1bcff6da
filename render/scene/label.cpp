#include "render/scene/label.h"

#include <algorithm>
#include <cstddef>

namespace dcmt::scene {
namespace {

bool starts_letter(std::string_view text, std::size_t at) {
  return (static_cast<unsigned char>(text[at]) & 0xc0U) != 0x80U;
}

std::size_t next_letter(std::string_view text, std::size_t at) {
  do ++at;
  while (at < text.size() && !starts_letter(text, at));
  return at;
}

/// The begin of the character that contains this byte.
std::size_t letter_of(std::string_view text, std::size_t at) {
  while (at > 0 && !starts_letter(text, at)) --at;
  return at;
}

std::string_view first_letters(std::string_view text, int count) {
  std::size_t end = 0;
  for (; count > 0 && end < text.size(); --count) end = next_letter(text, end);
  return text.substr(0, end);
}

}  // namespace

FittedText fit_text(const Appearance& appearance, std::string_view text, int room, bool cut, std::string& scratch) {
  if (room <= 0 || text.empty()) return {};
  // Characters are at least a pixel wide, so only that many are measured: a name in a trace may have any length.
  const std::string_view most = first_letters(text, room);
  if (most.size() == text.size()) {
    const int needed = appearance.text_width(text);
    if (needed <= room) return {text, needed};
  }
  if (!cut) return {};
  FittedText fitted;
  std::size_t fits = 0, over = most.size();
  while (next_letter(text, fits) < over) {
    const std::size_t middle = std::max(letter_of(text, fits + (over - fits) / 2), next_letter(text, fits));
    scratch.assign(text.substr(0, middle)).append("…");
    const int needed = appearance.text_width(scratch);
    if (needed <= room) {
      fits = middle;
      fitted.width = needed;
    } else {
      over = middle;
    }
  }
  if (fits < 3) return {};
  fitted.text = scratch.assign(text.substr(0, fits)).append("…");
  return fitted;
}

int draw_label(Canvas& canvas, const Appearance& appearance, std::vector<TextOf>& texts, int x, int y, int room,
               std::string_view text, Color color, bool cut) {
  std::string scratch;
  const FittedText fitted = fit_text(appearance, text, room, cut, scratch);
  if (fitted.text.empty()) return x;
  const Box box{x, y, fitted.width, appearance.text_height};
  texts.push_back({box, std::string(fitted.text)});
  canvas.text(box, fitted.text, color);
  return x + fitted.width;
}

}  // namespace dcmt::scene
