// Objects with numbers, as many as memory allows, at addresses that never change. They are zero at first and are never
// freed.
#pragma once

#include <atomic>
#include <cstdint>

#include "collector/agent/provider.h"

namespace dcmt::torch_provider {

/// Numbers begin at 1; 0 stands for none. Any thread may call it at any time.
template <class Object>
class NumberedTable {
 public:
  /// Adds an object; returns 0 if there is no memory. It requests memory from the system once for every kInPart
  /// objects.
  std::uint32_t add() noexcept {
    const std::uint32_t number = last_.fetch_add(1, std::memory_order_relaxed) + 1;
    const std::uint32_t part = number / kInPart;
    if (part >= kParts) return 0;
    if (parts_[part].load(std::memory_order_acquire) != nullptr) return number;
    auto* made = static_cast<Object*>(agent::arena(kInPart * sizeof(Object)));
    Object* none = nullptr;
    // If two threads make the same part, one part is wasted.
    if (made != nullptr) parts_[part].compare_exchange_strong(none, made, std::memory_order_release);
    return parts_[part].load(std::memory_order_acquire) != nullptr ? number : 0;
  }

  /// @param number  a number that add() returned
  Object& at(std::uint32_t number) noexcept {
    return parts_[number / kInPart].load(std::memory_order_acquire)[number % kInPart];
  }

  /// The highest number that add() may have returned; use at() only for numbers with in_use().
  [[nodiscard]] std::uint32_t last() const noexcept { return last_.load(std::memory_order_acquire); }
  [[nodiscard]] bool in_use(std::uint32_t number) const noexcept {
    const std::uint32_t part = number / kInPart;
    return part < kParts && parts_[part].load(std::memory_order_acquire) != nullptr;
  }

  /// Starts again with number 1. The caller has emptied the memory of arena().
  void clear() noexcept { last_.store(0, std::memory_order_release); }

 private:
  static constexpr std::uint32_t kInPart = 1024;
  static constexpr std::uint32_t kParts = 16'384;

  std::atomic<std::uint32_t> last_;
  std::atomic<Object*> parts_[kParts];
};

}  // namespace dcmt::torch_provider
