// What agent and recorder tell each other of blocks below kFollowedBytes (docs/adr/0034). The agent says where it keeps
// their sizes, for a recorder that reads the memory of the process; the recorder asks for sizes to be followed.
// Freestanding: included by the agent.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/base/followed_bytes.h"

namespace dcmt::spool {

/// In the spool's header.
struct SmallSizes {
  std::atomic<std::uint64_t> cpu_blocks;   ///< address of kCpuBlocks words in the process; 0: none
  std::atomic<std::uint64_t> gpu_regions;  ///< address of kGpuRegions GpuRegions; 0: none
  /// By the recorder: a bit for each class of sizes that is to be followed. None is ever taken away.
  std::atomic<std::uint64_t> wanted[kSizeClasses / 64];
  std::atomic<std::uint32_t> version;  ///< one more after each change of `wanted`
};

/// A word for each block of the CPU that may be known: its bytes in the lowest bits, 0 where there is none.
inline constexpr std::size_t kCpuBlocks = std::size_t{1} << 16;
inline constexpr unsigned kCpuBytesBits = 16;

/// Memory of a GPU: a byte for each unit, in which the size of the block that begins there is counted in units.
struct GpuRegion {
  std::atomic<std::uint64_t> number;  ///< 0: unused
  std::atomic<std::uint64_t> sizes;   ///< address of kGpuUnits bytes; 0: none yet
};
inline constexpr std::size_t kGpuRegions = std::size_t{1} << 13;
inline constexpr std::uint64_t kGpuUnitBytes = 512;
inline constexpr std::size_t kGpuUnits = (std::size_t{1} << 21) / kGpuUnitBytes;

}  // namespace dcmt::spool
