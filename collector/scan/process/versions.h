// Finds the versions of CPython and torch in a process, and its interpreters.
#pragma once

#include <string>

#include "collector/scan/memory/mirror.h"
#include "trace/base/status.h"

namespace dcmt::scan {

struct RunningVersions {
  std::int64_t python = 0;  ///< PY_VERSION_HEX >> 16; 0: a program of C++ without Python
  Address runtime = 0;      ///< _PyRuntime; 0: as above
  std::string torch;        ///< "2.11.0"
  std::string torch_build;  ///< build id of its libtorch_cpu.so; empty: none
};

inline constexpr char kNoPython[] = "no CPython from 3.11 on was found in the process: there is nothing to name";

/// Fails with kCannotRecord if the process runs an older CPython than 3.11, or has not loaded torch.
[[nodiscard]] Expected<RunningVersions> running_versions(Mirror& memory);

}  // namespace dcmt::scan
