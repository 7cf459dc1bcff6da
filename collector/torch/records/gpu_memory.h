// Watches the GPU memory of released storages that are still alive, and in `full` of all gathered ones, for kernels
// that get an address in it.
#pragma once

#include <cstdint>

namespace dcmt::torch_provider {

class StorageCopy;  // storage_copy.h

/// A final release of the storage has ended. The storage may have ended after `copy` was made: check that after the
/// call.
void watch_gpu_memory(const void* storage, const StorageCopy& copy) noexcept;

/// In `full`, watches the memory from its gather on, to find the last use before the release. The storage is alive.
void watch_gpu_memory_in_use(const void* storage) noexcept;

/// The storage is gathered again, or ends. Cheap if nothing is watched.
void unwatch_gpu_memory(const void* storage) noexcept;

/// Surrounds a call that gives a storage other bytes and may throw: another storage can get the old bytes at once.
class GpuMemoryResize {
 public:
  explicit GpuMemoryResize(const void* storage) noexcept;
  ~GpuMemoryResize();
  GpuMemoryResize(const GpuMemoryResize&) = delete;
  GpuMemoryResize& operator=(const GpuMemoryResize&) = delete;

 private:
  const void* storage_;
  bool was_watched_;
};

/// A released storage has outlived its thread's next operator: from here on, every launch is checked.
void expect_gpu_touches(const StorageCopy& storage) noexcept;

/// Writes how many launches were observed so far. Called at the end of a release, to separate the later launches.
void write_launches() noexcept;

/// See agent::TorchProvider: for a record of a call to CUDA, which then has the running operator, too.
std::uint64_t stack_of_gpu_call() noexcept;

/// See agent::TorchProvider.
void gpu_touch(const void* storage, std::uint64_t bytes, const char* name) noexcept;

}  // namespace dcmt::torch_provider
