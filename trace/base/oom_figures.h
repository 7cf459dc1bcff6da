// What the figures of an out-of-memory error mean. Standard error and the report use the same text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace dcmt {

/// Bytes, as far as torch and CUDA reported them. On the CPU only the request is available.
struct OomFigures {
  std::int64_t requested = 0;
  std::optional<std::int64_t> allocated = {}, reserved = {};  ///< by torch's own count
  std::optional<std::int64_t> free = {};                      ///< of the device

  /// The CUDA allocator requests whole segments; a small segment has this size.
  static constexpr std::int64_t kSegment = 20 * 1024 * 1024;

  /// The device has enough free bytes, but the allocator is not allowed to use them.
  [[nodiscard]] bool is_limited() const { return free && *free >= requested + kSegment; }

  /// The bytes that must be freed before the request fits.
  [[nodiscard]] std::int64_t missing() const {
    return std::max<std::int64_t>(0, requested - (is_limited() ? 0 : free.value_or(0)));
  }

  /// Reserved and not allocated.
  [[nodiscard]] std::int64_t unused() const { return reserved.value_or(0) - allocated.value_or(0); }

  /// The reserved memory has enough bytes, but they are not contiguous.
  [[nodiscard]] bool is_fragmented() const { return reserved && unused() >= requested; }
};

}  // namespace dcmt
