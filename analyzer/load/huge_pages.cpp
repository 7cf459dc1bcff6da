#include "analyzer/load/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>

namespace dcmt::analyzer {

void* map_huge_pages(std::size_t bytes) {
  // Maps so much more that it contains a multiple of kHugePage, and unmaps the rest.
  void* const mapped = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<char*>(mapped);
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(mapped) % kHugePage) % kHugePage;
  if (before != 0) munmap(begin, before);
  munmap(begin + before + bytes, kHugePage - before);
  madvise(begin + before, bytes, MADV_HUGEPAGE);
  return begin + before;
}

void unmap_huge_pages(void* memory, std::size_t bytes) noexcept { munmap(memory, bytes); }

}  // namespace dcmt::analyzer
