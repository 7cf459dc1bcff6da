// Finds the tensors on a storage, without a list of all tensors.
//
// A fixed table of recent tensor births, in buckets by storage: a cache line for each, and four more lines for those
// that need them. It may lose entries (a full bucket, a storage with many tensors), and it may have stale ones (a
// tensor whose storage was exchanged by code without a hook). So its answers are candidates. Each is verified by
// reading its memory through the kernel, which cannot fault, and the answer says when it may be incomplete. Lock-free;
// any hook may call it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dcmt::torch_provider {

bool make_sharing_table() noexcept;

/// Whether a tensor's birth was recorded.
enum class BirthRecorded {
  kNo,
  kYes,
  kNotKnown,  ///< the table has no entry: it lost it, or never had it
};

/// A tensor is about to be added: prefetches the line of the table.
void sharing_expect(const void* storage) noexcept;
void sharing_add(const void* tensor, const void* storage, bool recorded) noexcept;
/// Removes the tensor at the begin of its end or move. Only the thread that ends or moves the tensor calls this. A
/// sharing_note_recorded() of another thread at the same time may be missing in the answer. For a watched storage,
/// where other threads can call it, treat kNo as kYes.
BirthRecorded sharing_remove(const void* tensor, const void* storage) noexcept;

/// Notes that the tensor is recorded from here on; returns the earlier state. Only one of several callers gets kNo.
BirthRecorded sharing_note_recorded(const void* tensor, const void* storage) noexcept;

struct SharingSet {
  static constexpr std::uint32_t kCapacity = 14;
  const void* tensors[kCapacity];
  std::uint32_t count = 0;
  bool maybe_incomplete = false;
};

/// The live tensors that the table has for `storage`, or only those that are not recorded.
void sharing_of(const void* storage, SharingSet& out, bool unrecorded_only = false) noexcept;

/// True if the tensor is still one of them; false once its end has begun.
bool sharing_contains(const void* tensor, const void* storage) noexcept;

/// Copies memory that another thread may free at the same time. False if it cannot be read.
bool read_memory(const void* address, void* out, std::size_t bytes) noexcept;

}  // namespace dcmt::torch_provider
