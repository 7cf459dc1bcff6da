// A line about the recording in the last row of the terminal, below the rows in which the program's own output scrolls.
#pragma once

#include <cstdio>
#include <string>

namespace dcmt::recorder {

/// The program writes to the same terminal whenever it likes, also parts of lines. So the line has a row of its own,
/// and the cursor is left where the program has it.
class StatusLine {
 public:
  /// On standard error. Without `wanted`, and where that is no terminal that can do it, show() shows nothing.
  explicit StatusLine(bool wanted);
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;
  ~StatusLine() { give_back(); }

  [[nodiscard]] bool possible() const { return possible_; }
  /// Shows `text`, cut off at the width of the terminal.
  void show(const std::string& text);
  /// The terminal is as it was before. show() takes the row again.
  void give_back();

 private:
  bool possible_;
  int rows_ = 0;  ///< of the terminal, when its last row was taken; 0: it is not
};

}  // namespace dcmt::recorder
