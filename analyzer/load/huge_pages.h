// Memory for millions of rows. On small pages it would cause hundreds of thousands of page faults.
#pragma once

#include <cstddef>
#include <new>

namespace dcmt::analyzer {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Maps memory that returns to the system as soon as it is unmapped. On the heap, freed memory of such a size would
/// stay with the process between later allocations. The memory begins at a multiple of kHugePage; `bytes` must be a
/// multiple of it, too. Huge pages are a hint to the kernel. Throws std::bad_alloc.
[[nodiscard]] void* map_huge_pages(std::size_t bytes);
void unmap_huge_pages(void* memory, std::size_t bytes) noexcept;

/// An allocator that puts allocations of at least one huge page on huge pages.
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
