// A model of torch's CUDA allocator, as it is in torch 2.11: which segments it reserves for a sequence of requests and
// frees. It computes only; nothing is allocated.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "analyzer/allocator/settings.h"

namespace dcmt::analyzer {

/// A request of the program.
struct ModelRequest {
  std::int64_t bytes = 0;  ///< as the program asked for
  std::int64_t stream = 0;
  std::int64_t pool = 0;  ///< a private pool; 0: none
};

/// The allocator of one device.
///
/// Thread-safety: none.
class CachingAllocator {
 public:
  struct Pool;
  struct Piece {
    std::int64_t address = 0, bytes = 0, stream = 0;
    Pool* pool = nullptr;
    Piece *before = nullptr, *after = nullptr;  ///< neighbours in the segment
    std::int64_t range = -1;                    ///< number of its expandable segment; -1: none
    std::int64_t inserted_at = 0;               ///< the pool's searches by the time it became free
    bool is_free = true, is_mapped = true;
  };

  /// What decides whether the device gives memory, and where.
  struct Device {
    /// True if the device can give so many bytes more.
    std::function<bool(std::int64_t bytes)> can_give;
    /// The address of a new segment.
    std::function<std::int64_t(std::int64_t bytes)> address;
    /// A segment was given back.
    std::function<void(std::int64_t address, std::int64_t bytes)> given_back;
    /// False: the limit of the settings refuses nothing, as where can_give() has what was recorded.
    bool keeps_limit = true;
  };

  explicit CachingAllocator(const AllocatorSettings& settings) : settings_(settings) {}
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  /// Call it before the first request.
  void set_device(Device device) { device_ = std::move(device); }

  /// The block that serves the request; nullptr: out of memory. It stays valid until free().
  Piece* allocate(const ModelRequest& request);
  /// True if a cached block serves the request.
  [[nodiscard]] bool serves(const ModelRequest& request);
  /// A request that ends without a block. What it released is reported by release_cached().
  void refuse(const ModelRequest& request);
  /// No stream uses the block any more.
  void free(Piece* block);
  /// Gives back what is cached: of the pool that every request shares (0) or of a private one that nothing uses any
  /// more.
  void release_cached(std::int64_t pool);

  [[nodiscard]] std::int64_t reserved() const { return reserved_; }
  [[nodiscard]] std::int64_t allocated() const { return allocated_; }
  /// How often the device gave nothing for a request at first.
  [[nodiscard]] std::int64_t failures() const { return failures_; }
  /// How often the cache was collected because of its threshold, and how often the largest split size, or the rounding
  /// beyond it, kept a block from being reused or split.
  [[nodiscard]] std::int64_t collections() const { return collections_; }
  [[nodiscard]] std::int64_t kept_whole() const { return kept_whole_; }

 private:
  struct BySize {
    bool operator()(const Piece* a, const Piece* b) const;
  };
  struct ByAddress {
    bool operator()(const Piece* a, const Piece* b) const;
  };

 public:
  struct Pool {
    bool is_small = false;
    std::set<Piece*, BySize> blocks;
    std::set<Piece*, ByAddress> unmapped;
    std::int64_t searches = 0;
  };

 private:
  Pool& pool_of(const ModelRequest& request, std::int64_t bytes);
  std::set<Piece*, BySize>::iterator best_fit(Pool& pool, const ModelRequest& request, std::int64_t bytes);
  Piece* find_free(Pool& pool, const ModelRequest& request, std::int64_t bytes);
  Piece* reserve(Pool& pool, const ModelRequest& request, std::int64_t bytes);
  Piece* expand(Pool& pool, const ModelRequest& request, std::int64_t bytes);
  Piece* expandable_room(Pool& pool, const ModelRequest& request, std::int64_t bytes);
  bool map(Piece* block, std::int64_t bytes);
  void unmap(Piece* block);
  void collect();
  bool release_enough(Pool& pool, const ModelRequest& request, std::int64_t bytes);
  void release(Piece* block);
  void release_all(Pool& pool);
  /// A segment, as one block.
  Piece* make(Pool& pool, const ModelRequest& request, std::int64_t bytes);
  /// Returns what is beyond `bytes` as a block of its own.
  Piece* cut(Piece* block, std::int64_t bytes);
  void drop(Piece* block);
  void merge(Piece* into, Piece* other);
  void insert(Piece* block);
  [[nodiscard]] bool splits(const Piece& block, std::int64_t bytes);
  [[nodiscard]] bool uses_threshold() const { return settings_.limit && settings_.collect_above > 0; }
  [[nodiscard]] std::int64_t page_of(const Pool& pool) const;

  AllocatorSettings settings_;
  Device device_;
  std::map<std::pair<std::int64_t, bool>, Pool> pools_;
  std::set<Piece*> all_;
  std::int64_t ranges_ = 0;
  std::int64_t reserved_ = 0, allocated_ = 0, failures_ = 0, collections_ = 0, kept_whole_ = 0;
};

}  // namespace dcmt::analyzer
