// Reads what torch's CUDA allocator records: its trace and its live blocks. Needs CUDA's headers. Without them nothing
// is attached, `full` has no streams, and blocks from before an attach are not found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collector/agent/provider.h"

namespace dcmt::torch_provider {

/// Addresses that the allocator has reserved on its device.
struct Segment {
  std::size_t device;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t stream;  ///< CUDA's handle
  std::int64_t pool;     ///< as in the SegmentRecord
  bool expandable;       ///< a part of an expandable segment
};

/// Called under the allocator's lock, until the process ends: the trace cannot be detached.
struct AllocatorEvents {
  void (*allocated)(std::uint64_t address, std::uint64_t stream, std::uint64_t requested) noexcept;
  void (*free_requested)(std::uint64_t address) noexcept;
  void (*free_completed)(std::size_t device, std::uint64_t address) noexcept;
  void (*segment_begins)(const Segment& segment) noexcept;
  void (*segment_ends)(const Segment& segment) noexcept;
};

/// Attaches to the allocators of all devices; CUDA must be initialised. Allocates, and acquires their locks.
/// @param c10_cuda  handle of the library  @return nullptr, or why it failed
const char* attach_allocator_trace(void* c10_cuda, const AllocatorEvents& events) noexcept;

/// A live block of the allocator.
struct FoundBlock {
  std::size_t device;
  std::uint64_t address;
  std::uint64_t bytes;
  /// The stack of its allocation, innermost place first, if the program has turned on the allocator's history
  /// (torch.cuda.memory._record_memory_history); else empty. Valid during the call.
  std::span<const agent::PythonPlace> stack;
  bool stack_goes_on;  ///< the stack has further places
  bool recording;      ///< the argument of for_each_cuda_block()
};

/// Calls `found` for each live block of all devices. Allocates, and acquires the lock of one device's allocator after
/// the other, during which no other thread can allocate there: some milliseconds for ten thousand blocks.
/// @param c10_cuda  handle of the library  @return nullptr, or why the blocks cannot be listed
const char* for_each_cuda_block(void* c10_cuda, void (*found)(const FoundBlock& block) noexcept,
                                bool recording) noexcept;

/// A live block in the allocator's list of segments.
struct ListedBlock {
  std::size_t device;
  std::uint64_t address;
  std::uint64_t stream;  ///< CUDA's handle
  std::uint64_t requested;
};

/// How the allocators of a process are set.
struct ListedSettings {
  const char* text;  ///< of PYTORCH_ALLOC_CONF, as torch has it; valid during the call
  /// The part of the device's memory that the process may use; 1: all of it.
  double fraction;
};

/// What for_each_cuda_segment() finds, in this order for each device.
struct SegmentList {
  void (*settings)(std::size_t device, const ListedSettings& settings) noexcept;
  void (*segment)(const Segment& segment) noexcept;
  void (*block)(const ListedBlock& block) noexcept;
};

/// Calls `found` for each existing segment of all devices, and the live blocks in it, like for_each_cuda_block().
const char* for_each_cuda_segment(void* c10_cuda, const SegmentList& found) noexcept;

/// The reason, if the allocator in use has no trace; nullptr if it has one, or if there is no allocator yet.
const char* unknown_allocator(void* c10_cuda) noexcept;

}  // namespace dcmt::torch_provider
