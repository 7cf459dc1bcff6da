// What the kernel counts of a process's memory. Reading it touches nothing of the process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace dcmt::recorder {

struct KernelMemory {
  std::int64_t resident = 0;  ///< bytes of its pages that are in memory
  /// Bytes of its own memory that it can write on, in memory or not: no allocator of the CPU has more.
  std::int64_t data = 0;
};

/// Nothing if there is no such process, or it has ended.
std::optional<KernelMemory> kernel_memory(pid_t pid);

/// Whether it has the driver of a GPU, which torch loads when a program uses one. Looks through its mappings.
bool uses_gpu(pid_t pid);

}  // namespace dcmt::recorder
