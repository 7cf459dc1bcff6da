// The condition of `attach --when`: a memory figure that passes a size.
#pragma once

#include <cstdint>
#include <string>

#include "trace/base/status.h"

namespace dcmt::recorder {

enum class Counted {
  kAllocated,  ///< live blocks of torch's allocators, on the device with the most
  kReserved,   ///< bytes that torch's CUDA allocator has reserved, on the device with the most
  kResident,   ///< resident pages of the process, by the kernel
};

struct Condition {
  Counted what = Counted::kAllocated;
  bool or_equal = false;
  std::int64_t bytes = 0;

  [[nodiscard]] bool is_met_by(std::int64_t counted) const { return or_equal ? counted >= bytes : counted > bytes; }
};

/// Parses "allocated > 70GiB", "rss >= 1.5TB": one of allocated, reserved and rss, > or >=, a size. KiB, MiB, GiB and
/// TiB, or K, M, G and T, are powers of 1024; KB, MB, GB and TB of 1000. kUsage in one line for anything else.
Expected<Condition> parse_condition(const std::string& text);

/// "allocated", "reserved" or "rss".
std::string name_of(Counted what);
/// "allocated > 70.0 GiB".
std::string text_of(const Condition& condition);

}  // namespace dcmt::recorder
