// How to get from a function's frame to its caller's, at one of its instructions: by the unwinding information of its
// object (.eh_frame). Of the registers only those are followed by which frames are found: the frame pointer (rbp, x29),
// the stack pointer and the return address.
#pragma once

#include <cstdint>

#include "collector/agent/code_objects.h"

namespace dcmt::agent {

struct FrameStep {
  /// The end of the frame is the caller's stack pointer. The return address lies right before it; without
  /// arch::kCallSavesReturn, right after the word at `pointer_offset` from the end, as in a frame record of aarch64.
  enum class End : std::uint8_t {
    kUnknown,         ///< the stack ends here, or nobody says how it goes on
    kStackPointer,    ///< the stack pointer plus `end_offset`
    kFramePointer,    ///< the frame pointer plus `end_offset`
    kAtFramePointer,  ///< the word there: of a function of x86-64 that aligns its stack
  };
  /// The caller's frame pointer.
  enum class Pointer : std::uint8_t {
    kSame,
    kBeforeEnd,       ///< at the frame's end plus `pointer_offset`
    kAtFramePointer,  ///< at the frame pointer plus `pointer_offset`
    kUnknown,
  };
  End end = End::kUnknown;
  Pointer pointer = Pointer::kSame;
  std::int32_t end_offset = 0, pointer_offset = 0;
  std::uint64_t function = 0;  ///< where the function begins; 0: not known
};

/// The step at an instruction. Reads the object's tables, and takes about a microsecond.
FrameStep frame_step(const CodeObject& object, std::uint64_t instruction) noexcept;

}  // namespace dcmt::agent
