// `dc-memtrace attach`: records running processes for a while.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "collector/recorder/drive/attach_options.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

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
