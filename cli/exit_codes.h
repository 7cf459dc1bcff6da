// Exit codes of dc-memtrace. `run` passes the job's own code instead, see its help.
#pragma once

#include "trace/base/status.h"

namespace dcmt::cli {

enum ExitCode : int {
  kExitOk = 0,
  kExitFindings = 1,  ///< findings, or a failed check, where asked to fail
  kExitUsage = 2,
  kExitBadInput = 3,      ///< a file, table or trace that cannot be used
  kExitCannotRecord = 4,  ///< recording or attaching is impossible here
  kExitNotComparable = 5,
  kExitNoVerdict = 6,      ///< of check: the recording has losses, or none was made
  kExitCommandFailed = 7,  ///< of check: the command itself
  kExitStopped = 130,  ///< by Ctrl-C, as shells have it
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
