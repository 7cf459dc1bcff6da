// Properties of each opcode for control and data flow, for each Python version.
#pragma once

#include <array>
#include <cstdint>

namespace dcmt::recorder {

enum class OpcodeRole : std::uint8_t {
  kUnknown,        ///< not an opcode of this version
  kOther,          ///< continues with the next instruction, or raises
  kNeverRaises,    ///< continues with the next instruction
  kCache,          ///< an inline cache where an instruction should be
  kExtendedArg,    ///< upper bits of the next argument
  kStoreFast,      ///< local[arg] = value
  kStoreTwoFast,   ///< local[arg >> 4] = value, local[arg & 15] = the next value (since 3.13)
  kStoreLoadFast,  ///< local[arg >> 4] = value; loads local[arg & 15] (since 3.13)
  kDeleteFast,     ///< del local[arg]
  kStoreDeref,     ///< cell local[arg] = value
  kDeleteDeref,    ///< del cell local[arg]
  kClearFast,      ///< local[arg] is saved on the stack and cleared: an inlined comprehension begins (since 3.12)
  kJumpForward,
  kJumpBackward,
  kBranchForward,  ///< jumps or continues
  kBranchBackward,
  kReturn,
  kRaise,  ///< never continues
};

struct OpcodeInfo {
  OpcodeRole role = OpcodeRole::kUnknown;
  std::uint8_t caches = 0;  ///< units of inline cache after it
};

using OpcodeTable = std::array<OpcodeInfo, 256>;

/// @param python  (major << 8) | minor
/// @return the table of that version; nullptr if it is not supported. Lives for ever.
const OpcodeTable* opcode_table(int python);

}  // namespace dcmt::recorder
