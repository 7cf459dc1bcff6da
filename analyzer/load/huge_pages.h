// Memory for millions of rows: on small pages it would be hundreds of thousands of page faults.
#pragma once

#include <cstddef>
#include <new>

namespace dcmt::analyzer {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Asks for huge pages. Only a hint; `memory` and `bytes` are multiples of kHugePage.
void ask_for_huge_pages(void* memory, std::size_t bytes);

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
    const std::size_t pages = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    void* const memory = ::operator new(pages, std::align_val_t(kHugePage));
    ask_for_huge_pages(memory, pages);
    return static_cast<Value*>(memory);
  }
  void deallocate(Value* memory, std::size_t count) {
    if (count * sizeof(Value) < kHugePage) {
      ::operator delete(memory);
    } else {
      ::operator delete(memory, std::align_val_t(kHugePage));
    }
  }
  friend bool operator==(const HugePages&, const HugePages&) { return true; }
};

}  // namespace dcmt::analyzer
