// Long work for which a user waits: a line on the terminal shows its progress, and Ctrl-C ends it properly.
#pragma once

#include <chrono>
#include <csignal>
#include <string>

#include "analyzer/load/watch.h"

namespace dcmt::cli {

/// During its lifetime, Ctrl-C requests the work to stop. A second Ctrl-C ends the program at once, as usual. Only one
/// object may exist at a time.
class LongWork {
 public:
  /// `what`: the file that is read or written, as messages print it; `doing`: static text.
  explicit LongWork(std::string what, const char* doing = "reading");
  ~LongWork();
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

  /// The result must not outlive this object.
  [[nodiscard]] const analyzer::Watch& watch() const { return watch_; }

 private:
  void show(double share);

  std::string what_;
  const char* doing_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  int shown_ = -1;  ///< percent; below 0: nothing is shown
  struct sigaction before_ {};
  analyzer::Watch watch_;
};

}  // namespace dcmt::cli
