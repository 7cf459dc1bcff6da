#include "collector/torch/state/pinned_blocks.h"

#include <c10/core/StorageImpl.h>

#include <atomic>

#include "collector/torch/state/block_bucket.h"

namespace dcmt::torch_provider {
namespace {

/// A set of allocated addresses.
constexpr unsigned kBucketBits = 10;
constinit BlockBucket g_buckets[1u << kBucketBits] = {};
/// The function that frees all blocks. nullptr: there was no block yet; most programs never have one.
constinit std::atomic<c10::DeleterFnPtr> g_deleter{nullptr};

BlockBucket& bucket_of(std::uint64_t address) noexcept {
  constexpr unsigned kAlignBits = 9;  // the alignment of cudaHostAlloc
  return g_buckets[(address >> kAlignBits) * 0x9E3779B97F4A7C15u >> (64 - kBucketBits)];
}

}  // namespace

bool add_pinned_block(std::uint64_t address, PinnedDeleter deleter) noexcept {
  g_deleter.store(deleter, std::memory_order_relaxed);
  return bucket_of(address).insert(address);
}

bool remove_pinned_block(std::uint64_t address) noexcept {
  return bucket_of(address).remove([address](std::uint64_t block) { return block == address; }).has_value();
}

std::uint64_t pinned_block_of(const void* storage) noexcept {
  const c10::DeleterFnPtr deleter = g_deleter.load(std::memory_order_relaxed);
  if (deleter == nullptr) return 0;
  // Only reads; torch has no const access that does not copy a COW storage.
  auto* object = static_cast<c10::StorageImpl*>(const_cast<void*>(storage));
  const at::DataPtr& data = object->_mutable_data_ptr_no_checks();
  return data.get_deleter() == deleter ? reinterpret_cast<std::uint64_t>(data.get()) : 0;
}

const char* pinned_owner(const void* storage) noexcept {
  return pinned_block_of(storage) != 0 ? kPinnedOwner : nullptr;
}

}  // namespace dcmt::torch_provider
