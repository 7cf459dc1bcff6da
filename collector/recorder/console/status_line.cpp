#include "collector/recorder/console/status_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace dcmt::recorder {
namespace {

constexpr std::string_view kSaveCursor = "\0337";
constexpr std::string_view kRestoreCursor = "\0338";
constexpr std::string_view kOneDownOneUp = "\033D\033[A";  // scrolls if the cursor is in the last row
constexpr std::string_view kScrollAll = "\033[r";
constexpr std::string_view kClearRow = "\r\033[K";
constexpr int kFewestRows = 5;  // a smaller terminal has no row to spare
constexpr auto kEvery = std::chrono::milliseconds(250);

/// Uses a single write, so that no output of the program comes between the cursor's moves.
void say(const std::string& text) {
  const ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
  (void)ignored;
}

/// The longest begin of a text that fits into this many columns.
std::string_view first_columns(std::string_view text, int columns) {
  std::size_t end = 0;
  for (int used = 0; end < text.size(); ++end) {
    const bool begins_character = (static_cast<unsigned char>(text[end]) & 0xC0u) != 0x80u;
    if (begins_character && used++ == columns) break;
  }
  return text.substr(0, end);
}

/// Writes to this row and restores the cursor.
std::string in_last_row(int row, std::string_view text) {
  return fmt::format("{}\033[{};1H\033[2K{}{}", kSaveCursor, row, text, kRestoreCursor);
}

bool terminal_has_regions() {
  const char* kind = std::getenv("TERM");
  return kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

}  // namespace

StatusLine::StatusLine(bool wanted, StatusPlace place)
    : possible_(wanted && isatty(STDERR_FILENO) == 1 && (place == StatusPlace::kCursorRow || terminal_has_regions())),
      place_(place) {}

void StatusLine::update(const std::function<std::string()>& text) {
  const auto now = std::chrono::steady_clock::now();
  if (!possible_ || now - latest_ <= kEvery) return;
  const std::string shown = text();
  if (shown.empty()) return;
  show(shown);
  latest_ = now;
}

void StatusLine::show(const std::string& text) {
  winsize size{};
  const bool has_size = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
  if (place_ == StatusPlace::kCursorRow) {
    rows_ = 1;
    return say(fmt::format("{}{}", kClearRow, has_size && size.ws_col > 0 ? first_columns(text, size.ws_col) : text));
  }
  if (!has_size || size.ws_row < kFewestRows) return;
  std::string out;
  if (rows_ != size.ws_row) {
    give_back();
    rows_ = size.ws_row;
    out = fmt::format("{}{}\033[1;{}r{}", kOneDownOneUp, kSaveCursor, rows_ - 1, kRestoreCursor);
  }
  say(out + in_last_row(rows_, first_columns(text, size.ws_col)));
}

void StatusLine::give_back() {
  if (rows_ == 0) return;
  say(place_ == StatusPlace::kCursorRow
          ? std::string(kClearRow)
          : fmt::format("{}{}{}", kSaveCursor, kScrollAll, kRestoreCursor) + in_last_row(rows_, ""));
  rows_ = 0;
}

}  // namespace dcmt::recorder
