// What the figures of an out-of-memory error say: at once on standard error, and later in a report, the same.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace dcmt {

/// Bytes, as far as torch and CUDA told them. On the CPU only the request is known.
struct OomFigures {
  std::int64_t requested = 0;
  std::optional<std::int64_t> allocated = {}, reserved = {};  ///< by torch's own count
  std::optional<std::int64_t> free = {};                      ///< of the device

  /// The CUDA allocator asks for whole segments; a small one is as large.
  static constexpr std::int64_t kSegment = 20 * 1024 * 1024;

  /// The device has the bytes, and the allocator may not take them.
  [[nodiscard]] bool is_limited() const { return free && *free >= requested + kSegment; }

  /// Beyond what could be had: so many would have to be gone for the request to fit.
  [[nodiscard]] std::int64_t missing() const {
    return std::max<std::int64_t>(0, requested - (is_limited() ? 0 : free.value_or(0)));
  }

  /// Reserved and not allocated.
  [[nodiscard]] std::int64_t unused() const { return reserved.value_or(0) - allocated.value_or(0); }

  /// The reserved memory has the bytes, but scattered.
  [[nodiscard]] bool is_fragmented() const { return reserved && unused() >= requested; }
};

}  // namespace dcmt
