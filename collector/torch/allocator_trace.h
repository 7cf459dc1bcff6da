// The trace that torch's CUDA allocator keeps of itself. Needs CUDA's headers; without them nothing is attached and
// `full` has no streams.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dcmt::torch_provider {

/// Called while the allocator's lock is held, for as long as the process lives: there is no way to detach.
struct AllocatorEvents {
  void (*allocated)(std::uint64_t address, std::uint64_t stream) noexcept;
  void (*free_requested)(std::uint64_t address) noexcept;
  void (*free_completed)(std::size_t device, std::uint64_t address) noexcept;
  void (*segment)(std::size_t device, std::int64_t bytes) noexcept;  ///< of the device, given back if negative
};

/// Attaches to the allocators of all devices; CUDA must be initialised. Allocates, and takes their locks.
/// @param c10_cuda  handle of the library  @return why not, nullptr if done
const char* attach_allocator_trace(void* c10_cuda, const AllocatorEvents& events) noexcept;

/// Says so if the allocator in use tells nothing; nullptr if it does, or there is none yet.
const char* unknown_allocator(void* c10_cuda) noexcept;

}  // namespace dcmt::torch_provider
