// Exit codes of dc-memtrace. `run` passes on the job's own code instead; see its help.
#pragma once

#include "trace/base/status.h"

namespace dcmt::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitFindings = 1,  ///< findings, or a failed check, if failing was requested
  kExitUsage = 2,
  kExitBadInput = 3,      ///< a file, table or trace is unusable
  kExitCannotRecord = 4,  ///< recording or attaching is impossible here
  kExitNotComparable = 5,
  kExitNoVerdict = 6,      ///< check: the recording has losses, or there is none
  kExitCommandFailed = 7,  ///< check: the command itself failed
  kExitStopped = 130,      ///< stopped by Ctrl-C; the code that shells use
};

constexpr int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUsage:
      return kExitUsage;
    case ErrorCode::kBadInput:
    case ErrorCode::kIo:
      return kExitBadInput;
    case ErrorCode::kCannotRecord:
      return kExitCannotRecord;
    case ErrorCode::kNotComparable:
      return kExitNotComparable;
    case ErrorCode::kStopped:
      return kExitStopped;
  }
  return kExitBadInput;
}

}  // namespace dcmt::cli
