// Which storages the default detail follows.
#pragma once

#include <cstdint>

namespace dcmt {

/// With detail `lifetimes`, storages below this size are not followed unless they belong to a key, and blocks below it
/// count for the curve only.
inline constexpr std::int64_t kFollowedBytes = 64 * 1024;

/// What a device has in such blocks stands in a trace as one block of this owner, which ends whenever another one takes
/// its place.
inline constexpr char kSmallBlocks[] = "under 64 KiB, not followed";

}  // namespace dcmt
