// Memory for millions of rows: on small pages it would be hundreds of thousands of page faults.
#pragma once

#include <cstddef>
#include <new>

namespace dcmt::analyzer {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Memory of its own, which goes back to the system as soon as it is unmapped: on the heap, freed memory of such a size
/// stays with the process between what was allocated later. Both begin at a multiple of kHugePage; `bytes` is one. Huge
/// pages are a hint. Throws std::bad_alloc.
[[nodiscard]] void* map_huge_pages(std::size_t bytes);
void unmap_huge_pages(void* memory, std::size_t bytes) noexcept;

/// An allocator that puts what fills a huge page on huge pages.
template <class Value>
struct HugePages {
  using value_type = Value;

  HugePages() = default;
  template <class Other>
  explicit HugePages(const HugePages<Other>&) {}

  [[nodiscard]] Value* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(Value);
    if (bytes < kHugePage) return static_cast<Value*>(::operator new(bytes));
    return static_cast<Value*>(map_huge_pages(pages_for(bytes)));
  }
  void deallocate(Value* memory, std::size_t count) noexcept {
    const std::size_t bytes = count * sizeof(Value);
    if (bytes < kHugePage) {
      ::operator delete(memory);
    } else {
      unmap_huge_pages(memory, pages_for(bytes));
    }
  }
  friend bool operator==(const HugePages&, const HugePages&) { return true; }

 private:
  static std::size_t pages_for(std::size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }
};

}  // namespace dcmt::analyzer
