// Which storages the default detail follows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dcmt {

/// With detail `lifetimes`, storages below this size are not followed unless they belong to a key, and blocks below it
/// count for the curve only.
inline constexpr std::int64_t kFollowedBytes = 64 * 1024;

/// Sizes below it of which a program keeps more and more are followed, too, from when that is seen (docs/adr/0034): by
/// classes of so many bytes, the largest of class 0 has as many.
inline constexpr std::int64_t kSizeClassBytes = 64;
inline constexpr std::size_t kSizeClasses = kFollowedBytes / kSizeClassBytes;

/// Of 1 byte or more, and less than kFollowedBytes.
constexpr std::size_t size_class_of(std::int64_t bytes) {
  return static_cast<std::size_t>((bytes - 1) / kSizeClassBytes);
}

/// What a device has in such blocks stands in a trace as one block of this owner, which ends whenever another one takes
/// its place.
inline constexpr char kSmallBlocks[] = "under 64 KiB, not followed";

}  // namespace dcmt
