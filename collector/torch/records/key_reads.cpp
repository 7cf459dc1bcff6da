#include "collector/torch/records/key_reads.h"

#include <string.h>

#include <atomic>

#include "collector/agent/clock.h"
#include "collector/agent/provider.h"
#include "collector/torch/facts/layout.h"
#include "collector/torch/state/storage_watch.h"
#include "collector/torch/state/torch_thread.h"
#include "trace/wire/records.h"

namespace dcmt::torch_provider {
namespace {

constexpr std::uint32_t kReadsPerRelease = 64;

/// Tensors that releases re-pointed, direct-mapped by address. A lost entry can hide a read, but never causes a false
/// one.
struct MovedTensor {
  std::atomic<const void*> tensor;
  std::atomic<KeyIndex> key;
};
constexpr unsigned kMovedBits = 12;

constinit MovedTensor* g_moved = nullptr;
constinit std::atomic<std::int32_t> g_moved_count{0};

MovedTensor& moved_at(const void* tensor) noexcept {
  return g_moved[(reinterpret_cast<std::uint64_t>(tensor) >> 4) * 0x9E3779B97F4A7C15u >> (64 - kMovedBits)];
}

void write_read_record(KeyIndex key, const void* storage, std::uint64_t bytes, const void* tensor, const char* reader,
                       std::uint64_t ordinal, std::uint32_t flags) noexcept {
  const std::uint64_t name = reader != nullptr ? agent::intern(reader, strlen(reader)) : 0;
  const std::uint64_t stack = stack_here();
  write_running_ops();
  auto* record =
      static_cast<wire::ReadRecord*>(agent::begin_record(wire::RecordType::kRead, sizeof(wire::ReadRecord), flags));
  if (record == nullptr) return;
  record->graph = key_at(key).name.graph;
  record->key = key_at(key).name.key;
  record->storage = reinterpret_cast<std::uint64_t>(storage);
  record->tensor = reinterpret_cast<std::uint64_t>(tensor);
  record->bytes = bytes;
  record->op = name;
  record->ordinal = ordinal;
  record->stack = stack;
  agent::commit_record(record);
}

}  // namespace

void forget_moved_tensors() noexcept { g_moved_count.store(0, std::memory_order_relaxed); }

bool make_moved_tensors() noexcept {
  if (g_moved != nullptr) return true;
  g_moved = static_cast<MovedTensor*>(agent::arena((1u << kMovedBits) * sizeof(MovedTensor)));
  return g_moved != nullptr;
}

bool reads_wanted() noexcept { return released_storages_alive() || g_moved_count.load(std::memory_order_relaxed) > 0; }

bool released_key_of(const void* tensor, ReleasedKey& out) noexcept {
  const void* storage = layout::storage_of(tensor);
  if (storage != nullptr && released_storages_alive()) {
    const Claims claims = claims_on(storage);
    // A buffer that another key has gathered into may be read through that key.
    if (claims.gathered) return false;
    if (claims.released != 0) {
      out = {claims.released, storage, layout::bytes_of(storage)};
      return true;
    }
  }
  // The tensor's release re-pointed it to nothing. A tensor that was re-pointed to other data is valid again.
  if (g_moved_count.load(std::memory_order_relaxed) > 0 && layout::bytes_of(storage) == 0) {
    const MovedTensor& entry = moved_at(tensor);
    const KeyIndex key = entry.key.load(std::memory_order_acquire);
    if (entry.tensor.load(std::memory_order_acquire) == tensor && key != 0) {
      out = {key, storage_of_key(key), 0};
      return true;
    }
  }
  return false;
}

void write_read(const ReleasedKey& key, const void* tensor, const char* op, std::uint64_t ordinal,
                std::uint32_t flags) noexcept {
  if (key_at(key.key).reads.fetch_add(1, std::memory_order_relaxed) >= kReadsPerRelease) return;
  write_read_record(key.key, key.storage, key.bytes, tensor, op, ordinal, flags);
}

void kernel_touches(const void* storage, std::uint64_t bytes, const char* kernel, std::uint64_t ordinal,
                    bool left_over) noexcept {
  const Claims claims = claims_on(storage);
  if (claims.gathered) {
    note_touch(storage, kernel != nullptr ? agent::intern(kernel, strlen(kernel)) : 0, agent::cycles());
  } else if (claims.released != 0 && !left_over) {
    KeySlot& slot = key_at(claims.released);
    if (slot.kernel_reads.fetch_add(1, std::memory_order_relaxed) >= kReadsPerRelease) return;
    write_read_record(claims.released, storage, bytes, nullptr, kernel, ordinal, wire::kReadByKernel);
  }
}

void forget_reads(KeyIndex key) noexcept {
  KeySlot& slot = key_at(key);
  slot.reads.store(0, std::memory_order_relaxed);
  slot.kernel_reads.store(0, std::memory_order_relaxed);
  for (auto& entry : slot.moved) {
    const void* tensor = entry.exchange(nullptr);
    if (tensor == nullptr) continue;
    const void* expected = tensor;
    if (moved_at(tensor).tensor.compare_exchange_strong(expected, nullptr)) {
      g_moved_count.fetch_sub(1, std::memory_order_relaxed);
    }
  }
}

void watched_tensor_moves(const void* tensor, const void* old_storage) noexcept {
  const TorchThread* thread = torch_thread();
  if (thread == nullptr) return;
  if (thread->in_cycle_op == 0) {
    watched_tensor_ends(tensor);  // a re-point outside of a release gives the tensor new data
    return;
  }
  if (!storage_is_watched(old_storage)) return;
  // Of several keys in one buffer, only the key that is released here.
  const bool releasing = thread->releasing != 0 && storage_of_key(thread->releasing) == old_storage;
  const KeyIndex key = releasing ? thread->releasing : claims_on(old_storage).latest;
  if (key == 0) return;
  for (auto& entry : key_at(key).moved) {
    const void* empty = nullptr;
    if (!entry.compare_exchange_strong(empty, tensor)) continue;
    MovedTensor& moved = moved_at(tensor);
    moved.key.store(key, std::memory_order_release);
    if (moved.tensor.exchange(tensor) == nullptr) g_moved_count.fetch_add(1, std::memory_order_relaxed);
    return;
  }
}

void watched_tensor_ends(const void* tensor) noexcept {
  if (g_moved_count.load(std::memory_order_relaxed) == 0) return;
  MovedTensor& moved = moved_at(tensor);
  const void* expected = tensor;
  if (!moved.tensor.compare_exchange_strong(expected, nullptr)) return;
  g_moved_count.fetch_sub(1, std::memory_order_relaxed);
  const KeyIndex key = moved.key.load(std::memory_order_acquire);
  for (auto& entry : key_at(key).moved) {
    expected = tensor;
    entry.compare_exchange_strong(expected, nullptr);
  }
}

}  // namespace dcmt::torch_provider
