// How to get from a function's frame to its caller's, at one of its instructions: by the unwinding information of its
// object (.eh_frame). Of the registers only those are followed by which frames are found on x86-64.
#pragma once

#include <cstdint>

#include "collector/agent/code_objects.h"

namespace dcmt::agent {

struct FrameStep {
  /// The end of the frame: its return address lies right before it, and it is the caller's stack pointer.
  enum class End : std::uint8_t {
    kUnknown,         ///< the stack ends here, or nobody says how it goes on
    kStackPointer,    ///< the stack pointer plus `end_offset`
    kFramePointer,    ///< rbp plus `end_offset`
    kAtFramePointer,  ///< the word at rbp plus `end_offset`: of a function that aligns its stack
  };
  /// The caller's rbp.
  enum class Pointer : std::uint8_t {
    kSame,
    kBeforeEnd,       ///< at the frame's end plus `pointer_offset`
    kAtFramePointer,  ///< at rbp plus `pointer_offset`
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
