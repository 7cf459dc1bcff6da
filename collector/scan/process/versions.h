// Finds the versions of CPython and torch in a process, and its interpreters.
#pragma once

#include <string>

#include "collector/scan/memory/mirror.h"
#include "trace/base/status.h"

namespace dcmt::scan {

struct RunningVersions {
  std::int64_t python = 0;  ///< PY_VERSION_HEX >> 16
  Address runtime = 0;      ///< _PyRuntime
  std::string torch;        ///< "2.11.0"
  std::string torch_build;  ///< build id of its libtorch_cpu.so; empty: none
};

/// Fails with kCannotRecord if the process does not run CPython 3.11 or newer, or has not loaded torch.
[[nodiscard]] Expected<RunningVersions> running_versions(Mirror& memory);

}  // namespace dcmt::scan
