// Work that a person waits for: one line on a terminal says how far it is, and Ctrl-C ends it in order.
#pragma once

#include <chrono>
#include <csignal>
#include <string>

#include "analyzer/load/watch.h"

namespace dcmt::cli {

/// From its construction to its end, Ctrl-C asks the work to stop; a second one ends the program at once, as ever. One
/// at a time.
class LongWork {
 public:
  /// `what`: the file that is read or written, as it is printed; `doing`: static text.
  explicit LongWork(std::string what, const char* doing = "reading");
  ~LongWork();
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

  /// Must not outlive this.
  [[nodiscard]] const analyzer::Watch& watch() const { return watch_; }

 private:
  void show(double share);

  std::string what_;
  const char* doing_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int shown_ = -1;  ///< percent; below 0: nothing
  struct sigaction before_ {};
  analyzer::Watch watch_;
};

}  // namespace dcmt::cli
