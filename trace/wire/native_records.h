// Records of sampled allocations of C and C++.
#pragma once

#include <cstdint>

#include "trace/wire/record_header.h"

namespace dcmt::wire {

enum class NativeCall : std::uint32_t { kMalloc, kRealloc, kNew, kMmap };

/// An allocation that was sampled: each byte is with the same probability, the allocation if one of its bytes is.
struct NativeSampleRecord {
  RecordHeader header;  ///< aux: NativeCall
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint64_t interval;  ///< mean number of bytes between two samples
  std::uint64_t missed;    ///< sampled allocations so far that could not be followed to their end; they have no record
  std::uint64_t stack;     ///< StackRecord id or 0
  std::uint64_t native;    ///< NativeStackRecord id; 0: none
};
static_assert(sizeof(NativeSampleRecord) == 72);

/// A sampled allocation ends. In a kNativeEnd with this flag it did not: its realloc has failed.
inline constexpr std::uint32_t kNativeGoesOn = 1u << 0;

struct NativeEndRecord {
  RecordHeader header;  ///< aux: flag above
  std::uint64_t address;
};
static_assert(sizeof(NativeEndRecord) == 32);

}  // namespace dcmt::wire
