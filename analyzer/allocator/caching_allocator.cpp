#include "analyzer/allocator/caching_allocator.h"

#include <algorithm>
#include <tuple>

namespace dcmt::analyzer {
namespace {

constexpr std::int64_t kMebi = std::int64_t{1} << 20;
constexpr std::int64_t kSmallest = 512;
constexpr std::int64_t kMostSmall = kMebi;
constexpr std::int64_t kSmallPage = 2 * kMebi;
/// Addresses of an expandable segment. Torch takes an eighth more than the device has, so no segment is ever full.
constexpr std::int64_t kRangeBytes = std::int64_t{1} << 42;

}  // namespace

bool CachingAllocator::BySize::operator()(const Piece* a, const Piece* b) const {
  return std::tuple(a->stream, a->bytes, a->address) < std::tuple(b->stream, b->bytes, b->address);
}

bool CachingAllocator::ByAddress::operator()(const Piece* a, const Piece* b) const {
  return std::tuple(a->stream, a->address) < std::tuple(b->stream, b->address);
}

CachingAllocator::~CachingAllocator() {
  for (Piece* block : all_) delete block;
}

CachingAllocator::Pool& CachingAllocator::pool_of(const ModelRequest& request, std::int64_t bytes) {
  const bool is_small = bytes <= kMostSmall;
  Pool& pool = pools_[{request.pool, is_small}];
  pool.is_small = is_small;
  return pool;
}

CachingAllocator::Piece* CachingAllocator::allocate(const ModelRequest& request) {
  const std::int64_t bytes = settings_.rounded(request.bytes);
  Pool& pool = pool_of(request, bytes);
  Piece* block = find_free(pool, request, bytes);
  if (block == nullptr) {
    if (uses_threshold()) collect();
    block = reserve(pool, request, bytes);
    if (block == nullptr) {
      ++failures_;
      if (release_enough(pool, request, bytes)) block = reserve(pool, request, bytes);
    }
    if (block == nullptr) {
      release_cached(0);
      block = reserve(pool, request, bytes);
    }
    if (block == nullptr) return nullptr;
  }
  if (splits(*block, bytes)) insert(cut(block, bytes));
  block->is_free = false;
  allocated_ += block->bytes;
  return block;
}

bool CachingAllocator::serves(const ModelRequest& request) {
  const std::int64_t bytes = settings_.rounded(request.bytes);
  Pool& pool = pool_of(request, bytes);
  return best_fit(pool, request, bytes) != pool.blocks.end();
}

void CachingAllocator::refuse(const ModelRequest& request) {
  if (uses_threshold()) ++pool_of(request, settings_.rounded(request.bytes)).searches;
}

CachingAllocator::Piece* CachingAllocator::find_free(Pool& pool, const ModelRequest& request, std::int64_t bytes) {
  if (uses_threshold()) ++pool.searches;
  const auto at = best_fit(pool, request, bytes);
  if (at == pool.blocks.end()) return nullptr;
  Piece* block = *at;
  pool.blocks.erase(at);
  return block;
}

/// The end if there is none.
std::set<CachingAllocator::Piece*, CachingAllocator::BySize>::iterator CachingAllocator::best_fit(
    Pool& pool, const ModelRequest& request, std::int64_t bytes) {
  Piece key;
  key.stream = request.stream;
  key.bytes = bytes;
  auto at = pool.blocks.lower_bound(&key);
  const auto is_there = [&](auto each) { return each != pool.blocks.end() && (*each)->stream == request.stream; };
  if (!is_there(at)) return pool.blocks.end();
  if ((*at)->range >= 0) {
    if (settings_.expandable) {
      // The best fit counts the bytes to which a block can grow.
      const auto room = [](const Piece* each) {
        const Piece* after = each->after;
        return each->bytes + (after != nullptr && !after->is_mapped ? after->bytes : 0);
      };
      for (auto next = std::next(at); (*at)->range >= 0 && is_there(next) && room(*next) < room(*at); ++next) at = next;
    } else {
      do {
        ++at;
      } while (is_there(at) && (*at)->range >= 0);
      if (!is_there(at)) return pool.blocks.end();
    }
  }
  const Piece* block = *at;
  const bool is_oversize = block->bytes >= settings_.max_split;
  const bool wants_oversize = bytes >= settings_.max_split;
  if ((!wants_oversize && is_oversize) ||
      (wants_oversize && block->bytes >= bytes + settings_.max_non_split_rounding)) {
    ++kept_whole_;
    return pool.blocks.end();
  }
  return at;
}

bool CachingAllocator::splits(const Piece& block, std::int64_t bytes) {
  const std::int64_t rest = block.bytes - bytes;
  if (block.pool->is_small || settings_.expandable) return rest >= kSmallest;
  if (rest <= kMostSmall) return false;
  if (bytes < settings_.max_split) return true;
  ++kept_whole_;
  return false;
}

CachingAllocator::Piece* CachingAllocator::reserve(Pool& pool, const ModelRequest& request, std::int64_t bytes) {
  const std::int64_t segment = settings_.segment_for(bytes);
  if (device_.keeps_limit && settings_.limit && reserved_ + segment > *settings_.limit) return nullptr;
  if (settings_.expandable) return expand(pool, request, bytes);
  if (!device_.can_give(segment)) return nullptr;
  Piece* block = make(pool, request, segment);
  reserved_ += segment;
  return block;
}

std::int64_t CachingAllocator::page_of(const Pool& pool) const {
  return pool.is_small ? kSmallPage : settings_.large_segment;
}

/// The lowest addresses of an expandable segment with enough room: a block that is not mapped, or a free one before it.
CachingAllocator::Piece* CachingAllocator::expandable_room(Pool& pool, const ModelRequest& request,
                                                           std::int64_t bytes) {
  const auto has_room = [&](const Piece* block) {
    std::int64_t room = 0;
    for (; block != nullptr && block->is_free && room < bytes; block = block->after) room += block->bytes;
    return room >= bytes;
  };
  Piece key;
  key.stream = request.stream;
  for (auto at = pool.unmapped.lower_bound(&key); at != pool.unmapped.end() && (*at)->stream == request.stream; ++at) {
    Piece* block = *at;
    if (block->before != nullptr && block->before->is_free) block = block->before;
    if (has_room(block)) return block;
  }
  Piece* block = make(pool, request, kRangeBytes);
  block->is_mapped = false;
  block->range = ranges_++;
  pool.unmapped.insert(block);
  return block;
}

CachingAllocator::Piece* CachingAllocator::expand(Pool& pool, const ModelRequest& request, std::int64_t bytes) {
  Piece* block = expandable_room(pool, request, bytes);
  if (!block->is_mapped && !map(block, std::min(block->bytes, bytes))) return nullptr;
  while (block->bytes < bytes) {
    Piece* next = block->after;
    if (!map(next, std::min(bytes - block->bytes, next->bytes))) return nullptr;
    block = next;  // it has taken the free block before it
  }
  pool.blocks.erase(block);
  return block;
}

bool CachingAllocator::map(Piece* block, std::int64_t bytes) {
  Pool& pool = *block->pool;
  const std::int64_t page = page_of(pool);
  const std::int64_t mapped = std::min((bytes + page - 1) / page * page, block->bytes);
  if (!device_.can_give(mapped)) return false;
  pool.unmapped.erase(block);
  block->is_mapped = true;
  if (mapped < block->bytes) {
    Piece* rest = cut(block, mapped);
    rest->is_mapped = false;
    pool.unmapped.insert(rest);
  }
  merge(block, block->before);
  merge(block, block->after);
  insert(block);
  reserved_ += mapped;
  return true;
}

void CachingAllocator::unmap(Piece* block) {
  Pool& pool = *block->pool;
  const std::int64_t page = page_of(pool);
  // Whole pages, counted from the begin of the segment.
  const Piece* first = block;
  while (first->before != nullptr) first = first->before;
  const std::int64_t offset = block->address - first->address;
  const std::int64_t from = (offset + page - 1) / page * page;
  const std::int64_t to = (offset + block->bytes) / page * page;
  if (from >= to) return;
  pool.blocks.erase(block);
  if (from > offset) {
    auto* before = new Piece(*block);
    all_.insert(before);
    before->bytes = from - offset;
    before->after = block;
    if (before->before != nullptr) before->before->after = before;
    block->before = before;
    block->address += before->bytes;
    block->bytes -= before->bytes;
    insert(before);
  }
  if (block->bytes > to - from) insert(cut(block, to - from));
  block->is_mapped = false;
  reserved_ -= to - from;
  merge(block, block->before);
  merge(block, block->after);
  pool.unmapped.insert(block);
}

CachingAllocator::Piece* CachingAllocator::make(Pool& pool, const ModelRequest& request, std::int64_t bytes) {
  auto* block = new Piece;
  all_.insert(block);
  block->address = device_.address(bytes);
  block->bytes = bytes;
  block->stream = request.stream;
  block->pool = &pool;
  return block;
}

CachingAllocator::Piece* CachingAllocator::cut(Piece* block, std::int64_t bytes) {
  auto* rest = new Piece(*block);
  all_.insert(rest);
  rest->address += bytes;
  rest->bytes -= bytes;
  rest->before = block;
  if (rest->after != nullptr) rest->after->before = rest;
  block->bytes = bytes;
  block->after = rest;
  return rest;
}

void CachingAllocator::drop(Piece* block) {
  all_.erase(block);
  delete block;
}

void CachingAllocator::insert(Piece* block) {
  block->is_free = true;
  block->inserted_at = block->pool->searches;
  block->pool->blocks.insert(block);
}

void CachingAllocator::merge(Piece* into, Piece* other) {
  if (other == nullptr || !other->is_free || other->is_mapped != into->is_mapped) return;
  // The set is ordered by what changes here.
  (other->is_mapped ? static_cast<void>(other->pool->blocks.erase(other))
                    : static_cast<void>(other->pool->unmapped.erase(other)));
  if (into->before == other) {
    into->address = other->address;
    into->before = other->before;
    if (into->before != nullptr) into->before->after = into;
  } else {
    into->after = other->after;
    if (into->after != nullptr) into->after->before = into;
  }
  into->bytes += other->bytes;
  drop(other);
}

void CachingAllocator::free(Piece* block) {
  allocated_ -= block->bytes;
  merge(block, block->before);
  merge(block, block->after);
  insert(block);
}

void CachingAllocator::release(Piece* block) {
  reserved_ -= block->bytes;
  device_.given_back(block->address, block->bytes);
  block->pool->blocks.erase(block);
  drop(block);
}

void CachingAllocator::release_all(Pool& pool) {
  std::vector<Piece*> to_unmap;
  for (auto at = pool.blocks.begin(); at != pool.blocks.end();) {
    Piece* block = *at++;
    if (block->range >= 0) {
      to_unmap.push_back(block);
    } else if (block->before == nullptr && block->after == nullptr) {
      release(block);
    }
  }
  for (Piece* block : to_unmap) {
    unmap(block);
    if (block->before != nullptr || block->after != nullptr || block->is_mapped) continue;
    pool.unmapped.erase(block);
    drop(block);
  }
}

void CachingAllocator::release_cached(std::int64_t number) {
  for (const bool is_small : {false, true}) {
    const auto pool = pools_.find({number, is_small});
    if (pool != pools_.end()) release_all(pool->second);
  }
}

void CachingAllocator::collect() {
  const auto threshold = static_cast<std::int64_t>(settings_.collect_above * static_cast<double>(*settings_.limit));
  if (reserved_ <= threshold) return;
  const auto found = pools_.find({0, false});
  if (found == pools_.end()) return;
  Pool& pool = found->second;
  const std::int64_t target = reserved_ - threshold;
  std::int64_t total_age = 0, count = 0, reclaimed = 0;
  const auto age = [&](const Piece& block) { return pool.searches - block.inserted_at; };
  for (const Piece* block : pool.blocks) {
    if (block->before != nullptr || block->after != nullptr) continue;
    total_age += age(*block);
    ++count;
  }
  bool went_on = true;
  while (reclaimed < target && went_on && count > 0) {
    const double old = static_cast<double>(total_age) / static_cast<double>(count);
    went_on = false;
    for (auto at = pool.blocks.begin(); at != pool.blocks.end();) {
      Piece* block = *at++;
      if (block->before != nullptr || block->after != nullptr || block->range >= 0) continue;
      if (static_cast<double>(age(*block)) < old) continue;
      went_on = true;
      reclaimed += block->bytes;
      total_age -= age(*block);
      --count;
      ++collections_;
      release(block);
    }
  }
}

bool CachingAllocator::release_enough(Pool& pool, const ModelRequest& request, std::int64_t bytes) {
  if (settings_.max_split == AllocatorSettings::kUnlimited) return false;
  Piece key;
  key.stream = request.stream;
  key.bytes = std::max(bytes, settings_.max_split);
  auto at = pool.blocks.lower_bound(&key);
  if (at != pool.blocks.end() && (*at)->stream == request.stream && (*at)->range < 0) {
    release(*at);
    return true;
  }
  std::int64_t released = 0;
  while (released < key.bytes && at != pool.blocks.begin()) {
    Piece* block = *--at;
    if (block->bytes < settings_.max_split || block->stream != request.stream) break;
    if (block->range >= 0) continue;
    ++at;
    released += block->bytes;
    release(block);
  }
  return released >= key.bytes;
}

}  // namespace dcmt::analyzer
