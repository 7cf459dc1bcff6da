// What control and data flow need to know of each opcode, per Python version.
#pragma once

#include <array>
#include <cstdint>

namespace dcmt::recorder {

enum class OpcodeRole : std::uint8_t {
  kUnknown,        ///< no opcode of this version
  kOther,          ///< goes on to the next instruction or raises
  kNeverRaises,    ///< goes on to the next instruction
  kCache,          ///< an inline cache where an instruction should be
  kExtendedArg,    ///< upper bits of the next argument
  kStoreFast,      ///< local[arg] = value
  kStoreTwoFast,   ///< local[arg >> 4] = value, local[arg & 15] = the next value (3.13)
  kStoreLoadFast,  ///< local[arg >> 4] = value; loads local[arg & 15] (3.13)
  kDeleteFast,     ///< del local[arg]
  kStoreDeref,     ///< cell local[arg] = value
  kDeleteDeref,    ///< del cell local[arg]
  kClearFast,      ///< local[arg] saved on the stack and emptied: an inlined comprehension begins (from 3.12 on)
  kJumpForward,
  kJumpBackward,
  kBranchForward,  ///< jumps or goes on
  kBranchBackward,
  kReturn,
  kRaise,  ///< never goes on
};

struct OpcodeInfo {
  OpcodeRole role = OpcodeRole::kUnknown;
  std::uint8_t caches = 0;  ///< inline cache units after it
};

using OpcodeTable = std::array<OpcodeInfo, 256>;

/// @param python  (major << 8) | minor
/// @return the table of that version, nullptr if it is not supported. Lives for ever.
const OpcodeTable* opcode_table(int python);

}  // namespace dcmt::recorder
