// The addresses of sampled allocations that are alive. Every free asks for its address here, so the usual answer, no,
// needs one load.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dcmt::native_provider {

/// A set of addresses, in groups of eight. A group has a byte for each of its places: 0 if the place is free, else a
/// part of the address's hash. Thread-safety: any; an address is added and removed by the thread that allocates or
/// frees it, so never by two at a time.
class SampledAddresses {
 public:
  static constexpr std::size_t kGroups = std::size_t{1} << 14;
  struct Group {
    std::atomic<std::uint64_t> addresses[8];
  };
  static constexpr std::size_t kMarkBytes = kGroups * sizeof(std::atomic<std::uint64_t>);
  static constexpr std::size_t kBytes = kMarkBytes + kGroups * sizeof(Group);

  /// @param memory  kBytes of zeros
  void use(void* memory) noexcept {
    groups_ = reinterpret_cast<Group*>(static_cast<char*>(memory) + kMarkBytes);
    marks_ = static_cast<std::atomic<std::uint64_t>*>(memory);
  }

  /// False if the address is not in the set. True if it may be.
  [[nodiscard]] bool may_have(const void* address) const noexcept {
    const std::uint64_t hash = hash_of(address);
    return has_byte(marks_[hash % kGroups].load(std::memory_order_relaxed), mark_of(hash));
  }

  /// False if there is no place left near the address.
  bool add(const void* address) noexcept {
    const std::uint64_t hash = hash_of(address);
    std::atomic<std::uint64_t>& marks = marks_[hash % kGroups];
    std::uint64_t before = marks.load(std::memory_order_relaxed);
    for (;;) {
      unsigned place = 0;
      while (place < 8 && (before >> (8 * place) & 0xff) != 0) ++place;
      if (place == 8) return false;
      const std::uint64_t with = before | std::uint64_t{mark_of(hash)} << (8 * place);
      if (!marks.compare_exchange_weak(before, with, std::memory_order_acq_rel)) continue;
      groups_[hash % kGroups].addresses[place].store(number(address), std::memory_order_release);
      return true;
    }
  }

  /// True if the address was in the set.
  bool remove(const void* address) noexcept {
    const std::uint64_t hash = hash_of(address);
    std::atomic<std::uint64_t>& marks = marks_[hash % kGroups];
    Group& group = groups_[hash % kGroups];
    for (unsigned place = 0; place < 8; ++place) {
      std::uint64_t wanted = number(address);
      // The address goes first: a place whose mark is gone may be taken by another thread.
      if (!group.addresses[place].compare_exchange_strong(wanted, 0, std::memory_order_acq_rel)) continue;
      marks.fetch_and(~(std::uint64_t{0xff} << (8 * place)), std::memory_order_release);
      return true;
    }
    return false;
  }

 private:
  static std::uint64_t number(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }
  static std::uint64_t hash_of(const void* address) noexcept { return (number(address) * 0x9e3779b97f4a7c15u) >> 32; }
  /// Above the bits that choose the group; not 0.
  static std::uint8_t mark_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint8_t>((hash >> 20 & 0xff) | 1);
  }
  /// True if one of the eight bytes is `byte`.
  static bool has_byte(std::uint64_t bytes, std::uint8_t byte) noexcept {
    constexpr std::uint64_t kOnes = 0x0101010101010101u;
    const std::uint64_t zero_where_equal = bytes ^ (kOnes * byte);
    return ((zero_where_equal - kOnes) & ~zero_where_equal & (kOnes << 7)) != 0;
  }

  std::atomic<std::uint64_t>* marks_ = nullptr;
  Group* groups_ = nullptr;
};

}  // namespace dcmt::native_provider
