// How far long work is, and whether it should stop.
#pragma once

#include <atomic>
#include <functional>
#include <utility>

#include "trace/base/status.h"

namespace dcmt::analyzer {

/// Of whoever waits for long work. Neither part has to be there.
struct Watch {
  /// Gets the share of the work that is done, 0 to 1, never less than before; called by the thread that began the work.
  std::function<void(double share)> progress;
  /// True as soon as the work should stop; may be set by any thread and by a signal handler.
  const std::atomic<bool>* stop = nullptr;

  void done(double share) const {
    if (progress) progress(share);
  }
  [[nodiscard]] bool stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
  /// kStopped if the work should stop.
  [[nodiscard]] Status check() const {
    return stopped() ? Status(ErrorCode::kStopped, "stopped before it was done.") : Status();
  }
  /// For a part of the work, which takes it from one share to another.
  [[nodiscard]] Watch part(double from, double to) const {
    if (!progress) return *this;
    return {[whole = progress, from, to](double share) { whole(from + share * (to - from)); }, stop};
  }
};

}  // namespace dcmt::analyzer
