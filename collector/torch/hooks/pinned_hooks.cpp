#include "collector/torch/hooks/pinned_hooks.h"

#include <ATen/core/CachingHostAllocator.h>

#include <atomic>
#include <bit>
#include <cstring>

#include "collector/agent/provider.h"
#include "collector/elf/elf_patch.h"
#include "collector/elf/hidden_result.h"
#include "collector/torch/keys/release_keys.h"
#include "collector/torch/records/block_records.h"
#include "collector/torch/records/small_blocks.h"
#include "collector/torch/state/pinned_blocks.h"

namespace dcmt::torch_provider {
namespace {

/// DataPtr allocate(size)
using Allocate = elf::HiddenResult (*)(void*, std::size_t);
constinit Allocate g_allocate = nullptr;

void end(std::uint64_t address) noexcept {
  const auto* block = reinterpret_cast<const void*>(address);
  if (!remove_small_block(wire::kCpuDevice, block)) write_block_end(wire::kCpuDevice, block, 0, false);
}

/// @param bytes  that the allocator reserves for it
void begin(std::uint64_t address, std::size_t bytes, PinnedDeleter deleter) noexcept {
  if (remove_pinned_block(address)) end(address);
  if (!add_pinned_block(address, deleter)) {
    static constinit std::atomic<bool> said{false};
    if (!said.exchange(true)) {
      agent::diagnose(wire::DiagnosticCode::kNote, "there are more blocks of pinned host memory than are followed");
    }
    return;
  }
  const auto* block = reinterpret_cast<const void*>(address);
  if (add_small_block(wire::kCpuDevice, block, bytes)) return;
  settle_releases(Settling::kWithCensus);
  write_block_begin(wire::kCpuDevice, block, bytes, false);
  write_block_owner(wire::kCpuDevice, block, kPinnedOwner);
}

/// Bytes that the allocator reserves for `data`. Usually that is the next power of two, but above a limit of the
/// program it is the requested size. The allocator's own block has the value.
std::size_t kept_bytes(const at::DataPtr& data, std::size_t asked) noexcept {
  const auto* block = static_cast<const at::HostBlock<c10::Stream>*>(data.get_context());
  return block != nullptr && block->ptr_ == data.get() ? block->size_ : std::bit_ceil(asked);
}

elf::HiddenResult on_allocate(void* allocator, std::size_t bytes) {
  return elf::HiddenResult([&](void* at) {
    elf::call_into(at, g_allocate, allocator, bytes);
    const auto& result = *static_cast<const at::DataPtr*>(at);
    const auto address = reinterpret_cast<std::uint64_t>(result.get());
    if (address != 0 && agent::recording()) {
      const agent::Inside inside;
      begin(address, kept_bytes(result, bytes), result.get_deleter());
    }
  });
}

/// The function's index among an object's virtual functions. By the C++ ABI of torch, a pointer to such a member is its
/// distance in bytes, on x86-64 one more.
std::size_t slot_of_allocate() noexcept {
  const auto member = &c10::Allocator::allocate;
  std::size_t distance = 0;
  static_assert(sizeof member >= sizeof distance);
  std::memcpy(&distance, &member, sizeof distance);
  return distance / sizeof(void*);
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

void end_pinned_block(std::uint64_t address) noexcept {
  if (address != 0 && remove_pinned_block(address)) end(address);
}

}  // namespace dcmt::torch_provider
