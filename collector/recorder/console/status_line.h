// A status line in the last row of the terminal; the program's own output scrolls in the rows above it.
#pragma once

#include <cstdio>
#include <string>

namespace dcmt::recorder {

/// The program writes to the same terminal at any time, even parts of lines. So the status line has its own row, and
/// the cursor is returned to the program's position.
class StatusLine {
 public:
  /// Uses standard error. If not `wanted`, or if that is not a suitable terminal, show() does nothing.
  explicit StatusLine(bool wanted);
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine() { give_back(); }

  [[nodiscard]] bool possible() const { return possible_; }
  /// Shows `text`, truncated to the width of the terminal.
  void show(const std::string& text);
  /// Restores the terminal. show() reserves the row again.
  void give_back();

 private:
  bool possible_;
  int rows_ = 0;  ///< of the terminal, when its last row was reserved; 0: it is not
};

}  // namespace dcmt::recorder
