// The loop of every recording.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "trace/base/status.h"

namespace dcmt::recorder {

/// Time between two rounds: each has a fixed cost, so it should find many records.
inline constexpr auto kPause = std::chrono::milliseconds(10);

/// What a round did.
struct Round {
  std::size_t drained = 0;  ///< records
  bool is_last = false;
};

/// Makes rounds until one is the last, or fails. Pauses between them, unless records come faster than they are drained.
Status record_rounds(const std::function<Expected<Round>()>& round);

}  // namespace dcmt::recorder
