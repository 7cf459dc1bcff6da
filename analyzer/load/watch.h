// Progress of long work, and a request to stop it.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include "trace/base/status.h"

namespace dcmt::analyzer {

/// Given by the code that waits for long work. Both members are optional.
struct Watch {
  /// Receives the finished part of the work, 0 to 1, never decreasing. Called by the thread that began the work.
  std::function<void(double share)> progress;
  /// Set to true when the work should stop. Any thread or signal handler may set it.
  const std::atomic<bool>* stop = nullptr;

  void done(double share) const {
    if (progress) progress(share);
  }
  [[nodiscard]] bool stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
  /// kStopped if the work should stop.
  [[nodiscard]] Status check() const {
    return stopped() ? Status(ErrorCode::kStopped, "stopped before it was done.") : Status();
  }
  /// A Watch for a part of the work that advances the progress from one share to another.
  [[nodiscard]] Watch part(double from, double to) const {
    if (!progress) return *this;
    return {[whole = progress, from, to](double share) { whole(from + share * (to - from)); }, stop};
  }
};

}  // namespace dcmt::analyzer
