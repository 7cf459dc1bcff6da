#include "collector/recorder/console/status_line.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace dcmt::recorder {
namespace {

constexpr std::string_view kSaveCursor = "\0337";
constexpr std::string_view kRestoreCursor = "\0338";
constexpr std::string_view kOneDown = "\033D";  // scrolls if the cursor is in the last row
constexpr std::string_view kScrollAll = "\033[r";
constexpr std::string_view kClearBelow = "\033[J";
constexpr std::string_view kClearRow = "\r\033[K";
constexpr int kFewestRows = 4;  // that are left to the program; a smaller terminal has none to spare
constexpr auto kEvery = std::chrono::milliseconds(250);

/// The terminal takes what one write has, with no output of the program between its parts: the cursor moves in it.
void say(const std::string& text) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = write(STDERR_FILENO, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

bool takes_output() {
  pollfd terminal{STDERR_FILENO, POLLOUT, 0};
  return poll(&terminal, 1, 0) == 1 && (terminal.revents & POLLOUT) != 0;
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

/// Writes to this row.
std::string in_row(int row, std::string_view text) { return fmt::format("\033[{};1H\033[2K{}", row, text); }

std::optional<ScreenSize> size_of_screen() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return std::nullopt;
  return ScreenSize{size.ws_row, size.ws_col};
}

}  // namespace

bool terminal_has_last_rows() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

StatusLine::StatusLine(bool wanted, StatusPlace place)
    : possible_(wanted && isatty(STDERR_FILENO) == 1 && (place == StatusPlace::kCursorRow || terminal_has_last_rows())),
      place_(place) {}

void StatusLine::update(const Text& text) {
  if (!possible_) return;
  // A terminal that changes its size forgets which rows were reserved: the program would write over them.
  const bool other_size = place_ == StatusPlace::kLastRows && rows_ != 0 && size_of_screen() != screen_;
  if (other_size || std::chrono::steady_clock::now() - latest_ > kEvery) update_now(text);
}

void StatusLine::update_now(const Text& text) {
  if (!possible_ || !takes_output()) return;
  const std::optional<ScreenSize> screen = size_of_screen();
  const std::string shown = text(screen.value_or(ScreenSize{}));
  if (shown.empty()) return;
  if (place_ == StatusPlace::kCursorRow) {
    rows_ = 1;
    const bool has_size = screen && screen->columns > 0;
    say(fmt::format("{}{}", kClearRow, has_size ? first_columns(shown, screen->columns) : shown));
  } else if (screen) {
    show(shown, *screen);
  }
  latest_ = std::chrono::steady_clock::now();
}

void StatusLine::show(const std::string& text, ScreenSize screen) {
  const auto rows = static_cast<int>(std::ranges::count(text, '\n')) + 1;
  if (screen.rows < kFewestRows + rows) return give_back();
  std::string out;
  if (screen_ != screen || rows_ != rows) {
    give_back();
    screen_ = screen;
    rows_ = rows;
    for (int i = 0; i < rows; ++i) out += kOneDown;
    out += fmt::format("\033[{}A{}\033[1;{}r{}", rows, kSaveCursor, screen.rows - rows, kRestoreCursor);
    guard_.restores_by(restoring(screen));
  }
  out += kSaveCursor;
  std::string_view rest = text;
  for (int row = screen.rows - rows + 1; row <= screen.rows; ++row) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    out += in_row(row, first_columns(rest.substr(0, end), screen.columns));
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  say(out += kRestoreCursor);
}

std::string StatusLine::restoring(ScreenSize screen) const {
  std::string out = fmt::format("{}{}", kSaveCursor, kScrollAll);
  // A terminal of another size has moved its rows, but not past the cursor: the reserved ones are still below it.
  if (screen != screen_) return out.append(kRestoreCursor).append(kClearBelow);
  for (int row = screen_.rows - rows_ + 1; row <= screen_.rows; ++row) out += in_row(row, "");
  return out.append(kRestoreCursor);
}

void StatusLine::give_back() {
  if (rows_ == 0) return;
  say(place_ == StatusPlace::kCursorRow ? std::string(kClearRow) : restoring(size_of_screen().value_or(screen_)));
  guard_.restores_by("");
  rows_ = 0;
}

}  // namespace dcmt::recorder
