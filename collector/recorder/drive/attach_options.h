// What `dc-memtrace attach` is to record.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collector/recorder/drive/armed.h"
#include "collector/recorder/drive/recording_options.h"

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

}  // namespace dcmt::recorder
