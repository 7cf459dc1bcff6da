#include "collector/torch/pinned_blocks.h"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/StorageImpl.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>

#include "collector/agent/provider.h"
#include "collector/elf/elf_patch.h"
#include "collector/torch/allocator_hooks.h"
#include "collector/torch/block_bucket.h"
#include "collector/torch/small_blocks.h"

namespace dcmt::torch_provider {
namespace {

constexpr char kOwner[] = "pinned host memory";

/// DataPtr allocate(size): returned through a hidden first argument.
using Allocate = void* (*)(at::DataPtr*, void*, std::size_t);
constinit Allocate g_allocate = nullptr;

/// A set of allocated addresses.
constexpr unsigned kBucketBits = 10;
constinit BlockBucket g_buckets[1u << kBucketBits] = {};
/// The function that frees all blocks. nullptr: there was no block yet; most programs never have one.
constinit std::atomic<c10::DeleterFnPtr> g_deleter{nullptr};

BlockBucket& bucket_of(std::uint64_t address) noexcept {
  constexpr unsigned kAlignBits = 9;  // the alignment of cudaHostAlloc
  return g_buckets[(address >> kAlignBits) * 0x9E3779B97F4A7C15u >> (64 - kBucketBits)];
}

bool remove(std::uint64_t address) noexcept {
  return bucket_of(address).remove([address](std::uint64_t block) { return block == address; }).has_value();
}

void end(std::uint64_t address) noexcept {
  const auto* block = reinterpret_cast<const void*>(address);
  if (!remove_small_block(wire::kCpuDevice, block)) write_block_free(wire::kCpuDevice, block);
}

/// @param bytes  that the allocator reserves for it
void begin(std::uint64_t address, std::size_t bytes) noexcept {
  if (remove(address)) end(address);
  if (!bucket_of(address).insert(address)) {
    static constinit std::atomic<bool> said{false};
    if (!said.exchange(true)) {
      agent::diagnose(wire::DiagnosticCode::kNote, "there are more blocks of pinned host memory than are followed");
    }
    return;
  }
  const auto* block = reinterpret_cast<const void*>(address);
  if (!add_small_block(wire::kCpuDevice, block, bytes)) {
    write_block_alloc(wire::kCpuDevice, block, bytes, kOwner);
  }
}

/// Bytes that the allocator reserves for `data`. Usually that is the next power of two, but above a limit of the
/// program it is the requested size. The allocator's own block has the value.
std::size_t kept_bytes(const at::DataPtr& data, std::size_t asked) noexcept {
  const auto* block = static_cast<const at::HostBlock<c10::Stream>*>(data.get_context());
  return block != nullptr && block->ptr_ == data.get() ? block->size_ : std::bit_ceil(asked);
}

void* on_allocate(at::DataPtr* result, void* allocator, std::size_t bytes) {
  void* returned = g_allocate(result, allocator, bytes);
  const auto address = reinterpret_cast<std::uint64_t>(result->get());
  if (address != 0 && agent::recording()) {
    const agent::Inside inside;
    g_deleter.store(result->get_deleter(), std::memory_order_relaxed);
    begin(address, kept_bytes(*result, bytes));
  }
  return returned;
}

/// The function's index among an object's virtual functions. By the C++ ABI of torch, a pointer to such a member is one
/// more than its distance in bytes.
std::size_t slot_of_allocate() noexcept {
  const auto member = &c10::Allocator::allocate;
  std::size_t distance = 0;
  static_assert(sizeof member >= sizeof distance);
  std::memcpy(&distance, &member, sizeof distance);
  return (distance - 1) / sizeof(void*);
}

}  // namespace

void follow_pinned_blocks() noexcept {
  if (g_allocate != nullptr) return;
  at::HostAllocator* allocator = nullptr;
  try {
    allocator = at::getHostAllocator(at::kCUDA);
  } catch (...) {
    return;  // the library is still loading
  }
  auto** functions = *reinterpret_cast<void***>(allocator);
  const std::size_t slot = slot_of_allocate();
  g_allocate = reinterpret_cast<Allocate>(functions[slot]);
  if (!elf::patch_slot(functions, slot, elf::pointer(on_allocate))) {
    agent::diagnose(wire::DiagnosticCode::kNote,
                    "blocks of pinned host memory are not seen: its allocator's table "
                    "cannot be written");
  }
}

std::uint64_t pinned_block_of(const void* storage) noexcept {
  const c10::DeleterFnPtr deleter = g_deleter.load(std::memory_order_relaxed);
  if (deleter == nullptr) return 0;
  // Only reads; torch has no const access that does not copy a COW storage.
  auto* object = static_cast<c10::StorageImpl*>(const_cast<void*>(storage));
  const at::DataPtr& data = object->_mutable_data_ptr_no_checks();
  return data.get_deleter() == deleter ? reinterpret_cast<std::uint64_t>(data.get()) : 0;
}

const char* pinned_owner(const void* storage) noexcept { return pinned_block_of(storage) != 0 ? kOwner : nullptr; }

void end_pinned_block(std::uint64_t address) noexcept {
  if (address != 0 && remove(address)) end(address);
}

}  // namespace dcmt::torch_provider
