// How agent and recorder share information on blocks below kFollowedBytes (docs/decisions/detail.md). The agent
// publishes the address of its size tables, for a recorder that reads the memory of the process. The recorder asks the
// agent to track more sizes. Freestanding: included by the agent.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/base/followed_bytes.h"

namespace dcmt::spool {

/// Part of the spool's header.
struct SmallSizes {
  std::atomic<std::uint64_t> cpu_blocks;   ///< address of kCpuBlocks words in the process; 0: none
  std::atomic<std::uint64_t> gpu_regions;  ///< address of kGpuRegions GpuRegions; 0: none
  /// Written by the recorder: a bit for each class of sizes to track. A bit is never cleared.
  std::atomic<std::uint64_t> wanted[kSizeClasses / 64];
  std::atomic<std::uint32_t> version;  ///< incremented after each change of `wanted`
};

/// A word for each tracked block of the CPU: the lowest bits have its size in bytes. 0: the word is unused.
inline constexpr std::size_t kCpuBlocks = std::size_t{1} << 16;
inline constexpr unsigned kCpuBytesBits = 16;

/// Memory of a GPU: one byte for each unit. The byte where a block begins has the size of the block, in units.
struct GpuRegion {
  std::atomic<std::uint64_t> number;  ///< 0: unused
  std::atomic<std::uint64_t> sizes;   ///< address of kGpuUnits bytes; 0: none yet
};
inline constexpr std::size_t kGpuRegions = std::size_t{1} << 13;
inline constexpr std::uint64_t kGpuUnitBytes = 512;
inline constexpr std::size_t kGpuUnits = (std::size_t{1} << 21) / kGpuUnitBytes;

}  // namespace dcmt::spool
