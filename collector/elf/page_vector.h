// A vector whose memory comes from the kernel. While the loader lists objects it holds its lock; a program's malloc may
// wait for that lock with its own held (heaptrack's does), so malloc must not be called then.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <vector>

namespace dcmt::elf {

template <class Value>
struct PageAllocator {
  using value_type = Value;

  PageAllocator() = default;
  template <class Other>
  explicit PageAllocator(const PageAllocator<Other>& /*other*/) {}

  Value* allocate(std::size_t count) {
    void* pages = mmap(nullptr, count * sizeof(Value), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    return static_cast<Value*>(pages);
  }
  void deallocate(Value* values, std::size_t count) { munmap(values, count * sizeof(Value)); }
  bool operator==(const PageAllocator& /*other*/) const { return true; }
};

template <class Value>
using PageVector = std::vector<Value, PageAllocator<Value>>;

/// One for as long as the process lives: hooks may run until its very end.
template <class Value>
class LastingPageVector {
 public:
  PageVector<Value>& operator*() { return values_; }

  LastingPageVector() : values_() {}
  ~LastingPageVector() {}  // NOLINT(modernize-use-equals-default): a member of a union has no destructor of its own
  LastingPageVector(const LastingPageVector&) = delete;
  LastingPageVector& operator=(const LastingPageVector&) = delete;

 private:
  union {
    PageVector<Value> values_;
  };
};

}  // namespace dcmt::elf
