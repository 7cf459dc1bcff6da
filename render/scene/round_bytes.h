// Round numbers of bytes.
#pragma once

#include <cstdint>

namespace dcmt::scene {

/// The smallest of 1, 2, 5 × 2^k × 1 KiB, ... that is at least `least`: for axes of bytes.
[[nodiscard]] std::int64_t round_bytes(std::int64_t least);

}  // namespace dcmt::scene
