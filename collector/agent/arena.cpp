// Memory for tables. It uses huge pages if the kernel has them: hooks access their tables at random places, and each
// small page would cost the traced program an entry of its address translation cache.
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collector/agent/arena.h"
#include "collector/agent/provider.h"

namespace dcmt::agent {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kPool = 3 * kHugePage;  // all tables below a huge page, and the states of some 100 threads

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

constinit std::atomic<char*> g_next{nullptr};  ///< begin of the pool's unused part
constinit char* g_end = nullptr;

/// All mapped memory, so that it can be emptied. Memory without an entry here cannot be emptied.
struct Region {
  char* base;
  std::size_t bytes;
};
constexpr std::uint32_t kRegions = 4096;
constinit Region g_regions[kRegions] = {};
constinit std::atomic<std::uint32_t> g_region_count{0};

char* note_region(char* base, std::size_t bytes) noexcept {
  const std::uint32_t index = g_region_count.fetch_add(1, std::memory_order_relaxed);
  if (base != nullptr && index < kRegions) g_regions[index] = {base, bytes};
  return base;
}

char* map(std::size_t bytes, int flags) noexcept {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  // A forked child records nothing and sees zeros. Otherwise the first write here, in a hook, would copy a page shared
  // with the child, and would split a huge page for that.
  madvise(base, bytes, MADV_WIPEONFORK);
  return static_cast<char*>(base);
}

char* map_huge(std::size_t bytes) noexcept {
  bytes = round_up(bytes, kHugePage);
  char* const mapped = map(bytes + kHugePage, 0);
  if (mapped == nullptr) return nullptr;
  const std::size_t before =
      round_up(reinterpret_cast<std::uintptr_t>(mapped), kHugePage) - reinterpret_cast<std::uintptr_t>(mapped);
  char* const base = mapped + before;
  if (before != 0) munmap(mapped, before);
  munmap(base + bytes, kHugePage - before);
  madvise(base, bytes, MADV_HUGEPAGE);
  // Populate the pages now: the first access would cause a page fault inside a hook.
  for (std::size_t at = 0; at < bytes; at += kPage) *static_cast<volatile char*>(base + at) = 0;
  return note_region(base, bytes);
}

}  // namespace

bool empty_arena() noexcept {
  const std::uint32_t count = g_region_count.load(std::memory_order_acquire);
  if (count > kRegions) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (madvise(g_regions[i].base, g_regions[i].bytes, MADV_DONTNEED) != 0) return false;
  }
  return true;
}

void populate_arena() noexcept {
  const std::uint32_t count = g_region_count.load(std::memory_order_acquire);
  // A kernel before 5.14 does not support this; then the first hooks are slower.
  for (std::uint32_t i = 0; i < count && i < kRegions; ++i) {
    madvise(g_regions[i].base, g_regions[i].bytes, MADV_POPULATE_WRITE);
  }
}

bool make_arena() noexcept {
  if (g_end != nullptr) {
    populate_arena();
    return true;
  }
  char* const pool = map_huge(kPool);
  if (pool == nullptr) return false;
  g_end = pool + kPool;
  g_next.store(pool, std::memory_order_relaxed);
  return true;
}

void* arena(std::size_t bytes) noexcept {
  if (bytes >= kHugePage) return map_huge(bytes);
  bytes = round_up(bytes, kLine);
  char* next = g_next.load(std::memory_order_relaxed);
  while (static_cast<std::size_t>(g_end - next) >= bytes) {
    if (g_next.compare_exchange_weak(next, next + bytes, std::memory_order_relaxed)) return next;
  }
  return note_region(map(bytes, MAP_POPULATE), bytes);
}

}  // namespace dcmt::agent
