// Which tensors lie on a storage, without a list of all tensors.
//
// A fixed table of recent tensor births, in buckets by storage: a cache line each, and four more for those that need
// it. It may lose entries (a full bucket, a storage with many tensors) and it may hold stale ones (a tensor whose
// storage was exchanged by code that has no hook). So it answers with candidates, each verified by reading the
// candidate's memory through the kernel, which cannot fault, and it says when it may be incomplete. Lock-free; callable
// from any hook.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dcmt::torch_provider {

bool make_sharing_table() noexcept;

/// Whether the trace has been told of a tensor.
enum class Told {
  kNo,
  kYes,
  kNotKnown,  ///< the table has lost it, or never had it
};

/// A tensor is about to be added: the table's line is asked for meanwhile.
void sharing_expect(const void* storage) noexcept;
void sharing_add(const void* tensor, const void* storage, bool told) noexcept;
/// As its end begins, or its move; only the thread that ends or moves it calls this. What another thread tells of it at
/// this very moment may be missing in the answer: where others can tell, of a watched storage, take kNo for kYes.
Told sharing_remove(const void* tensor, const void* storage) noexcept;

/// Notes that the trace is told of the tensor from here on; what it was before. Of several that call it, one gets kNo.
Told sharing_tell(const void* tensor, const void* storage) noexcept;

struct SharingSet {
  static constexpr std::uint32_t kCapacity = 14;
  const void* tensors[kCapacity];
  std::uint32_t count = 0;
  bool maybe_incomplete = false;
};

/// The live tensors known to lie on `storage` now, or only those that the trace was not told of.
void sharing_of(const void* storage, SharingSet& out, bool untold_only = false) noexcept;

/// Whether the tensor still is one of them: false once its end has begun.
bool sharing_contains(const void* tensor, const void* storage) noexcept;

/// Copies memory that another thread may be giving back at this moment. False if it cannot be read.
bool read_memory(const void* address, void* out, std::size_t bytes) noexcept;

}  // namespace dcmt::torch_provider
