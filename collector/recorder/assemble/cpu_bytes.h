// The bytes of torch's CPU allocator.
#pragma once

#include <cstdint>

namespace dcmt::recorder {

struct CpuBytes {
  std::int64_t allocated = 0;
  std::int64_t peak = 0;     ///< since the recording began
  std::int64_t highest = 0;  ///< since it was last restarted
};

}  // namespace dcmt::recorder
