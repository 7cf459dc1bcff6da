// Which CPython and which torch a process runs, and where its interpreters are.
#pragma once

#include <string>

#include "collector/scan/memory/mirror.h"
#include "trace/base/status.h"

namespace dcmt::scan {

struct RunningVersions {
  std::int64_t python = 0;  ///< PY_VERSION_HEX >> 16
  Address runtime = 0;      ///< _PyRuntime
  std::string torch;        ///< "2.11.0"
  std::string torch_build;  ///< build id of its libtorch_cpu.so; empty: it has none
};

/// Fails with kCannotRecord where the process runs no CPython from 3.11 on, or has no torch loaded.
[[nodiscard]] Expected<RunningVersions> running_versions(Mirror& memory);

}  // namespace dcmt::scan
