// A list whose memory comes from the kernel. While the loader lists objects it holds its lock; a program's malloc may
// wait for that lock with its own held (heaptrack's does), so malloc must not be called then.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <type_traits>

namespace dcmt::elf {

/// Has no destructor: hooks may run until the very end of the process. release() gives the memory back.
template <class Value>
class PageList {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  /// False if the kernel has no memory, or no mapping, left: then the list is as before.
  [[nodiscard]] bool add(const Value& value) noexcept {
    if (count_ == room_ && !grow()) return false;
    values_[count_++] = value;
    return true;
  }
  /// The last value comes in its place.
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
