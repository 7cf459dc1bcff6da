// The memory of GPUs that is in use, by the count of NVIDIA's driver.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "trace/base/status.h"

namespace dcmt::recorder {

/// Bytes.
struct GpuUse {
  std::int64_t used = 0;                ///< by all processes, without what the driver keeps for itself
  std::int64_t total = 0;               ///< that programs can use
  std::optional<std::int64_t> process;  ///< by one process; nothing if the driver does not say it
};

/// NVIDIA's management library (NVML), loaded into this process. No call of it reaches the program, or makes a context
/// on a GPU. Thread-safety: as that of NVML, whose functions may be called from every thread.
class GpuMemory {
 public:
  static constexpr const char* kLibrary = "libnvidia-ml.so.1";

  /// kCannotRecord if the library is missing, lacks a function or cannot begin. It takes some 10 ms.
  static Expected<GpuMemory> open(const char* library = kLibrary);
  ~GpuMemory();
  GpuMemory(GpuMemory&&) noexcept;
  GpuMemory& operator=(GpuMemory&&) noexcept;

  /// @param uuid  the GPU's, "GPU-5e6…", as nvidia-smi -L lists it
  /// @param pid   the process whose part of the use is wanted
  /// kIo if the driver does not answer, kCannotRecord if the GPU is divided into instances (MIG), which have no counts
  /// of their own here.
  [[nodiscard]] Expected<GpuUse> use_of(const std::string& uuid, pid_t pid) const;

 private:
  struct Functions;
  explicit GpuMemory(std::unique_ptr<Functions> functions);
  std::unique_ptr<Functions> functions_;  ///< nullptr: moved from
};

}  // namespace dcmt::recorder
