// Storages for tests without torch: memory that has only the fields that are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <atomic>
#include <vector>

#include "collector/torch/facts/layout.h"

namespace dcmt::torch_provider {

extern std::atomic<int> g_censuses;           ///< how many were requested
extern std::atomic<int> g_prepared;           ///< how often code was published for a later census
extern std::vector<const void*> g_inspected;  ///< their storages; for one thread

extern bool g_of_cpu_allocator;  ///< all storages are of torch's CPU allocator

inline constexpr std::size_t kFakeStorageBytes = 128;
inline constexpr std::size_t kFakeTensorBytes = 256;

/// Makes the memory at `at` look like a live storage of that many bytes on the CPU.
inline const void* fake_storage(void* at, std::uint64_t bytes) {
  char* const memory = static_cast<char*>(at);
  const std::uint64_t data = reinterpret_cast<std::uint64_t>(at) | std::uint64_t{1} << 46;
  std::memset(memory, 0, kFakeStorageBytes);
  std::memcpy(memory + layout::kStorageData, &data, sizeof data);
  std::memcpy(memory + layout::kStorageBytes, &bytes, sizeof bytes);
  return memory;
}

/// Makes the memory at `at` look like a tensor on that storage.
inline const void* fake_tensor(void* at, const void* storage) {
  std::memset(at, 0, kFakeTensorBytes);
  std::memcpy(static_cast<char*>(at) + layout::kTensorStorage, &storage, sizeof storage);
  return at;
}

}  // namespace dcmt::torch_provider
