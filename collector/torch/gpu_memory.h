// Released storages on a GPU that are still alive, and in `full` all that are gathered: their memory is watched for
// kernels that get an address in it.
#pragma once

#include <cstdint>

namespace dcmt::torch_provider {

class StorageCopy;  // storage_copy.h

/// A final release of the storage has ended. It may have ended since `copy` was made: see to it after the call.
void watch_gpu_memory(const void* storage, const StorageCopy& copy) noexcept;

/// In `full`, also from its gather on: the last use before the release is of interest. The storage is alive.
void watch_gpu_memory_in_use(const void* storage) noexcept;

/// It is gathered again, or it ends. Cheap where nothing is watched.
void unwatch_gpu_memory(const void* storage) noexcept;

/// Lives around a call that gives a storage other bytes, and may throw: the old ones can be another's at once.
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

/// A released storage has outlived its thread's next operator: from here on it is worth looking at every launch.
void expect_gpu_touches(const StorageCopy& storage) noexcept;

/// Writes how many launches were seen so far. Called where a release ends, so that those after it can be told.
void write_launches() noexcept;

/// See agent::TorchProvider.
void gpu_touch(const void* storage, std::uint64_t bytes, const char* name) noexcept;

}  // namespace dcmt::torch_provider
