// What no trace of ours exceeds: a larger number is damage.
#pragma once

#include <cstdint>

namespace dcmt {

/// Of ids, sequences, times and bytes; sums and differences of two smaller numbers stay within their type.
inline constexpr std::int64_t kLargest = std::int64_t{1} << 61;

/// Of bytes, references and operators.
inline constexpr std::int64_t kLargestCount = std::int64_t{1} << 48;

/// Devices `cuda:0` to `cuda:127`: torch's device numbers have 8 bits.
inline constexpr std::int64_t kMostGpus = 128;

}  // namespace dcmt
