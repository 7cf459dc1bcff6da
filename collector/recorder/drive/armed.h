// `attach --when`: a recording that begins by itself when memory comes near a size, and ends after memory has passed
// it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collector/recorder/drive/condition.h"
#include "collector/recorder/keep/retention_policy.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

struct Armed {
  Condition condition;
  std::int64_t before = 3;  ///< whole steps to keep from before the condition is met
  std::int64_t after = 3;   ///< whole steps to keep from after that
  double near = 0.9;        ///< fraction of the size at which the recording begins; 0: at once
};

/// What was observed until the recording began.
struct Watched {
  std::chrono::steady_clock::duration time{};
  std::int64_t samples = 0;
  std::int64_t highest_resident = 0;  ///< bytes, of one process
};

/// Waits until one of the processes may be near the size. Samples only the kernel's counters, ten times a second:
/// nothing is hooked, and the processes are not changed. A CPU allocator has at most the memory that its process can
/// write to. No counter outside shows the bytes of a GPU allocator, so a process counts as near as soon as it uses a
/// GPU.
///
/// kCannotRecord in one line if all have ended, or if `goes_on`, which is called after each sample, returns false.
Expected<Watched> wait_until_near(const Armed& armed, const std::vector<pid_t>& pids,
                                  const std::function<bool(const Watched&)>& goes_on);

/// The retention of a waiting recording: its last steps, new peaks, and the sums of all other steps.
RetentionOptions retention_of(const Armed& armed, RetentionOptions retention);

/// A line for the trace, once the condition is met: "allocated passed 70.00 GiB in step 12; …".
std::string note_of(const Armed& armed, const Watched& watched, std::int64_t steps);

}  // namespace dcmt::recorder
