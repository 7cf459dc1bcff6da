// A set of blocks by address, without a lock: one cache line of a table. The table decides which bucket a block uses.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace dcmt::torch_provider {

struct alignas(64) BlockBucket {
  std::atomic<std::uint64_t> blocks[8];  ///< an address, or a word that contains it; 0: empty

  /// False if the bucket is full.
  bool insert(std::uint64_t block) noexcept {
    for (auto& entry : blocks) {
      std::uint64_t empty = 0;
      if (entry.load(std::memory_order_relaxed) == 0 &&
          entry.compare_exchange_strong(empty, block, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  /// Removes the block for which `is_it(word)` is true. Only the thread that frees the block may call it.
  template <class IsIt>
  std::optional<std::uint64_t> remove(const IsIt& is_it) noexcept {
    for (auto& entry : blocks) {
      const std::uint64_t block = entry.load(std::memory_order_relaxed);
      if (!is_it(block)) continue;
      entry.store(0, std::memory_order_relaxed);
      return block;
    }
    return std::nullopt;
  }
};

}  // namespace dcmt::torch_provider
