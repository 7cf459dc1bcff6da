// `dc-memtrace attach`: records a process that is in standby, for a while.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "collector/agent/environment.h"
#include "collector/recorder/keep/retention_policy.h"
#include "collector/scan/layout/torch_layout.h"
#include "trace/base/detail.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

struct AttachOptions {
  pid_t pid = 0;
  std::string folder;  ///< where the trace goes
  Detail detail = Detail::kLifetimes;
  std::vector<std::string> operator_tables;  ///< as of RunOptions, like what follows
  std::string shipped_operators;
  std::string prepared;
  scan::LayoutFolders layouts;
  std::uint32_t spool_mib = 64;
  RetentionOptions retention;
  bool owners = true;
  int exit_wait = agent::kDefaultExitWait;
  bool replace = false;
  bool quiet = false;
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
