// What torch's CUDA allocator says of itself: the trace that it keeps, and the blocks that it has handed out. Needs
// CUDA's headers; without them nothing is attached, `full` has no streams, and blocks from before an attach are not
// found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collector/agent/provider.h"

namespace dcmt::torch_provider {

/// Addresses that the allocator has reserved of its device.
struct Segment {
  std::size_t device;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t stream;  ///< CUDA's handle
  bool expandable;       ///< a part of an expandable segment
};

/// Called while the allocator's lock is held, for as long as the process lives: there is no way to detach.
struct AllocatorEvents {
  void (*allocated)(std::uint64_t address, std::uint64_t stream) noexcept;
  void (*free_requested)(std::uint64_t address) noexcept;
  void (*free_completed)(std::size_t device, std::uint64_t address) noexcept;
  void (*segment_begins)(const Segment& segment) noexcept;
  void (*segment_ends)(const Segment& segment) noexcept;
};

/// Attaches to the allocators of all devices; CUDA must be initialised. Allocates, and takes their locks.
/// @param c10_cuda  handle of the library  @return why not, nullptr if done
const char* attach_allocator_trace(void* c10_cuda, const AllocatorEvents& events) noexcept;

/// A block that the allocator has handed out.
struct FoundBlock {
  std::size_t device;
  std::uint64_t address;
  std::uint64_t bytes;
  /// Of its allocation, innermost place first, where the program has the allocator keep its history
  /// (torch.cuda.memory._record_memory_history); else empty. Valid for the length of the call.
  std::span<const agent::PythonPlace> stack;
  bool stack_goes_on;  ///< beyond these places
  bool recording;      ///< as was given
};

/// Calls `found` for each block that is handed out, of all devices. Allocates, and takes the allocator's locks, one
/// device after the other, without which no thread allocates there: some milliseconds for ten thousand blocks.
/// @param c10_cuda  handle of the library  @return why they cannot be listed, nullptr if done
const char* for_each_cuda_block(void* c10_cuda, void (*found)(const FoundBlock& block) noexcept,
                                bool recording) noexcept;

/// Calls `found` for each segment that is there, of all devices, in the way of for_each_cuda_block().
const char* for_each_cuda_segment(void* c10_cuda, void (*found)(const Segment& segment) noexcept) noexcept;

/// Says so if the allocator in use tells nothing; nullptr if it does, or there is none yet.
const char* unknown_allocator(void* c10_cuda) noexcept;

}  // namespace dcmt::torch_provider
