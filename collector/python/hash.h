// A 64-bit hash of a few words, inlined into the stack walk.
#pragma once

#include <cstdint>

namespace dcmt::python_provider {

/// Multiplies to 128 bits and folds: every bit of the result depends on every bit of both words.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xE7037ED1A0B428DBu);
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Ids must not be 0: 0 means none.
inline std::uint64_t as_id(std::uint64_t hash) noexcept { return hash != 0 ? hash : 1; }

}  // namespace dcmt::python_provider
