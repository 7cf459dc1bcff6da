// Limits of numbers in a trace: a larger number is damage.
#pragma once

#include <cstdint>

namespace dcmt {

/// For ids, sequences, times and bytes: the sum or difference of two smaller numbers does not overflow.
inline constexpr std::int64_t kLargest = std::int64_t{1} << 61;

/// For amounts of bytes, and counts of references and operators.
inline constexpr std::int64_t kLargestCount = std::int64_t{1} << 48;

/// Devices `cuda:0` to `cuda:127`: torch's device numbers have 8 bits.
inline constexpr std::int64_t kMostGpus = 128;

}  // namespace dcmt
