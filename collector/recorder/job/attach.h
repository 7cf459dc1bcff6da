// `dc-memtrace attach`: records a process that is in standby, for a while.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "collector/recorder/job/recording_options.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

struct AttachOptions : RecordingOptions {
  pid_t pid = 0;
  std::optional<std::chrono::milliseconds> duration;  ///< none: until something else ends it
  std::int64_t steps = 0;                             ///< whole ones to record; 0: any number
};

struct AttachResult {
  std::vector<std::string> traces;
  std::vector<std::string> notes;  ///< one line each
  std::int64_t steps = 0;          ///< that were recorded, the first one in part
};

/// Records until the duration or the steps are over, a signal asks to end, somebody detaches, or the process ends.
/// kCannotRecord with one line if the process cannot be attached to; it is as it was, then.
Expected<AttachResult> attach(const AttachOptions& options);

/// Ends the recording of a process, whoever began it; returns when its hooks are off. kCannotRecord if nobody is
/// attached.
Status detach(pid_t pid);

}  // namespace dcmt::recorder
