// Moves finished traces while others are still recorded.
#pragma once

#include <deque>
#include <future>
#include <string>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::recorder {

/// A trace that was moved, or could not be.
struct MovedTrace {
  std::string key;   ///< as given to add()
  std::string from;  ///< where it was written
  Expected<std::string> to;
};

/// One trace at a time, on a thread of its own: a copy of gigabytes must not hold up the spools of other processes.
/// Thread-safety: none.
class TraceMover {
 public:
  explicit TraceMover(std::string folder) : folder_(std::move(folder)) {}

  void add(std::string key, std::string trace);
  /// The moves that are over by now.
  std::vector<MovedTrace> collect() { return collect(false); }
  /// Waits for all others.
  std::vector<MovedTrace> wait() { return collect(true); }

 private:
  struct Waiting {
    std::string key, from;
    std::future<Expected<std::string>> result;  ///< valid for the first one only
  };
  std::vector<MovedTrace> collect(bool waits);

  std::string folder_;
  std::deque<Waiting> waiting_;
};

}  // namespace dcmt::recorder
