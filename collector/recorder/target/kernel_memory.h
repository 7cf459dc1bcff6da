// The kernel's figures of a process's memory. Reading them does not touch the process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace dcmt::recorder {

struct KernelMemory {
  std::int64_t resident = 0;  ///< bytes of its pages that are in memory
  /// Bytes of its private writable memory, resident or not: no CPU allocator has more.
  std::int64_t data = 0;
};

/// Nothing if the process does not exist, or has ended.
std::optional<KernelMemory> kernel_memory(pid_t pid);

/// True if it has loaded a GPU's driver, which torch loads when a program uses a GPU. Reads its mappings.
bool uses_gpu(pid_t pid);

}  // namespace dcmt::recorder
