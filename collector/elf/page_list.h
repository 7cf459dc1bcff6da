// A list whose memory comes directly from the kernel. The loader holds its lock while it lists objects. A program's
// malloc may wait for that lock while it holds its own (heaptrack's does), so malloc must not be called then.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <type_traits>

namespace dcmt::elf {

/// It has no destructor, because hooks may run until the end of the process. release() frees the memory.
template <class Value>
class PageList {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  /// False if the kernel has no memory, or no mapping, left; the list is then unchanged.
  [[nodiscard]] bool add(const Value& value) noexcept {
    if (count_ == room_ && !grow()) return false;
    values_[count_++] = value;
    return true;
  }
  /// Replaces the value by the last one.
  void remove(Value* value) noexcept { *value = values_[--count_]; }
  void clear() noexcept { count_ = 0; }
  void release() noexcept {
    if (room_ != 0) munmap(values_, room_ * sizeof(Value));
    *this = {};
  }

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  Value* begin() noexcept { return values_; }
  Value* end() noexcept { return values_ + count_; }
  const Value* begin() const noexcept { return values_; }
  const Value* end() const noexcept { return values_ + count_; }

 private:
  bool grow() noexcept {
    constexpr std::size_t kFirstBytes = 4096;
    const std::size_t more = room_ == 0 ? kFirstBytes / sizeof(Value) : 2 * room_;
    void* const pages =
        room_ == 0 ? mmap(nullptr, more * sizeof(Value), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                   : mremap(values_, room_ * sizeof(Value), more * sizeof(Value), MREMAP_MAYMOVE);
    if (pages == MAP_FAILED) return false;
    values_ = static_cast<Value*>(pages);
    room_ = more;
    return true;
  }

  Value* values_ = nullptr;
  std::size_t count_ = 0;
  std::size_t room_ = 0;
};

}  // namespace dcmt::elf
