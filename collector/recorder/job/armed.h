// `attach --when`: a recording that begins by itself when memory comes near a size, and ends after it has passed it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collector/recorder/job/condition.h"
#include "collector/recorder/keep/retention_policy.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

struct Armed {
  Condition condition;
  std::int64_t before = 3;  ///< whole steps that are kept of those before it is met
  std::int64_t after = 3;   ///< and after it
  double near = 0.9;        ///< of the size: from there on the process is recorded; 0: at once
};

/// What was counted until the recording began.
struct Watched {
  std::chrono::steady_clock::duration time{};
  std::int64_t samples = 0;
  std::int64_t highest_resident = 0;  ///< bytes, of one process
};

/// Until one of the processes may come near the size. Only what the kernel counts is sampled, ten times a second:
/// nothing is hooked, and no process is touched. What an allocator of the CPU has is at most what the process can
/// write on; what a GPU's has nobody counts outside, so a process is near as soon as it uses one.
///
/// kCannotRecord in one line if all have ended, or `goes_on` says no, which is asked after each sample.
Expected<Watched> wait_until_near(const Armed& armed, const std::vector<pid_t>& pids,
                                  const std::function<bool(const Watched&)>& goes_on);

/// What is kept of a recording that waits: its last steps, new peaks, and the sums of all others.
RetentionOptions retention_of(const Armed& armed, RetentionOptions retention);

/// For the trace, once it is met: "allocated passed 70.00 GiB in step 12; …".
std::string note_of(const Armed& armed, const Watched& watched, std::int64_t steps);

}  // namespace dcmt::recorder
