// `dc-memtrace attach`: records running processes for a while.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "collector/recorder/drive/armed.h"
#include "collector/recorder/drive/recording_options.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

struct AttachOptions : RecordingOptions {
  std::vector<pid_t> pids;  ///< at least one
  std::string entry;        ///< library that puts its process in standby; empty: none is put in standby
  std::string providers;    ///< folder of this installation's providers
  bool kernels = false;     ///< observe launches and copies on GPUs, through CUPTI
  bool waits = false;       ///< waits for processes that have not loaded torch yet, at most as long as `duration`
  std::optional<std::chrono::milliseconds> duration;  ///< none: until something else ends it
  std::int64_t steps = 0;                             ///< whole steps to record; 0: any number
  std::optional<Armed> when;  ///< begin by itself; `duration` counts from when its condition is met, `steps` do not
};

struct AttachResult {
  std::vector<std::string> traces;  ///< one per process
  bool is_met = true;               ///< the condition of `when`, if there was one, was met
  std::int64_t steps = 0;           ///< recorded steps, including a partial first one; of several processes, the most
};

/// Records until the duration is over or a signal requests the end. Each process is also left when its steps are over,
/// when somebody detaches from it, or when it ends. With `when`, the first process that meets the condition ends the
/// wait of all.
/// kCannotRecord with one line if one of them cannot be attached to; all are then unchanged.
Expected<AttachResult> attach(const AttachOptions& options);

}  // namespace dcmt::recorder
