// Which storages the default detail follows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dcmt {

/// With detail `lifetimes`, storages below this size are not tracked unless they belong to a key. Blocks below this
/// size count only in the curve.
inline constexpr std::int64_t kFollowedBytes = 64 * 1024;

/// Sizes below it are tracked, too, once the program keeps more and more blocks of them (docs/decisions/detail.md).
/// Sizes form classes of this width in bytes; the largest size of class 0 equals it.
inline constexpr std::int64_t kSizeClassBytes = 64;
inline constexpr std::size_t kSizeClasses = kFollowedBytes / kSizeClassBytes;

/// `bytes` must be from 1 to kFollowedBytes - 1.
constexpr std::size_t size_class_of(std::int64_t bytes) {
  return static_cast<std::size_t>((bytes - 1) / kSizeClassBytes);
}

/// A trace has the sum of these blocks of a device as one block with this owner. That block ends when the next sum
/// replaces it.
inline constexpr char kSmallBlocks[] = "under 64 KiB, not followed";

}  // namespace dcmt
