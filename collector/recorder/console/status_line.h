// A status line on the terminal.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace dcmt::recorder {

enum class StatusPlace {
  /// A row of its own, the last one. The program writes to the same terminal at any time, even parts of lines: that
  /// scrolls in the rows above, and the cursor is returned to the program's position.
  kLastRow,
  kCursorRow,  ///< nobody else writes
};

/// Thread-safety: none.
class StatusLine {
 public:
  /// Uses standard error. If not `wanted`, or if that is not a suitable terminal, update() does nothing.
  StatusLine(bool wanted, StatusPlace place);
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine() { give_back(); }

  /// Shows `text`, truncated to the width of the terminal, at most four times a second. An empty text changes nothing.
  void update(const std::function<std::string()>& text);
  /// Restores the terminal. update() uses it again.
  void give_back();

 private:
  void show(const std::string& text);

  const bool possible_;
  const StatusPlace place_;
  std::chrono::steady_clock::time_point latest_ = std::chrono::steady_clock::now();
  int rows_ = 0;  ///< of the terminal, when its last row was reserved; 1: the cursor's row is used; 0: nothing is shown
};

}  // namespace dcmt::recorder
