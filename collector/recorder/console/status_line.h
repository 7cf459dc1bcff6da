// A status line on the terminal, or several.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "collector/recorder/console/terminal_guard.h"

namespace dcmt::recorder {

struct ScreenSize {
  int rows = 0, columns = 0;
  friend bool operator==(const ScreenSize&, const ScreenSize&) = default;
};

enum class StatusPlace {
  /// Rows of its own, the last ones. The program writes to the same terminal at any time, even parts of lines: that
  /// scrolls in the rows above, and the cursor is returned to the program's position.
  kLastRows,
  kCursorRow,  ///< one row; nobody else writes
};

/// True if standard error is a terminal whose last rows can be reserved.
[[nodiscard]] bool terminal_has_last_rows();

/// Thread-safety: none.
class StatusLine {
 public:
  /// The rows, each without its line end, and '\n' between them.
  using Text = std::function<std::string(ScreenSize)>;

  /// Uses standard error. If not `wanted`, or if that is not a suitable terminal, update() does nothing.
  StatusLine(bool wanted, StatusPlace place);
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine() { give_back(); }

  /// Shows `text`, truncated to the width of the terminal, four times a second, and when its size has changed. Does
  /// nothing while the terminal takes no output, as after Ctrl-S. An empty text changes nothing.
  void update(const Text& text);
  /// The same at once.
  void update_now(const Text& text);
  /// Restores the terminal. update() uses it again.
  void give_back();

 private:
  void show(const std::string& text, ScreenSize screen);
  /// What restores the terminal, of this size.
  [[nodiscard]] std::string restoring(ScreenSize screen) const;

  const bool possible_;
  const StatusPlace place_;
  std::chrono::steady_clock::time_point latest_ = std::chrono::steady_clock::now();
  ScreenSize screen_;  ///< when the last rows were reserved
  int rows_ = 0;       ///< that are reserved; 1 with the cursor's row; 0: nothing is shown
  TerminalGuard guard_;
};

}  // namespace dcmt::recorder
