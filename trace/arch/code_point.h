#pragma once

#include <cstdint>

namespace dcmt::arch {

/// A place in a running function, by its registers. The function is in an object with unwinding information, which the
/// agent itself has not.
struct CodePoint {
  std::uint64_t instruction, stack_pointer, frame_pointer;
};

}  // namespace dcmt::arch
