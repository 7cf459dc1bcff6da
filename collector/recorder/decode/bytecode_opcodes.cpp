#include "collector/recorder/decode/bytecode_opcodes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace dcmt::recorder {
namespace {

/// What the interpreter's own tables say of an opcode, apart from its number.
enum Kind : std::uint8_t { kPlain, kJumps, kUsesLocal };

struct OpcodeEntry {
  std::uint8_t opcode;
  std::uint8_t caches;
  Kind kind;
  std::string_view name;
};

// Specialised and instrumented instructions are omitted on purpose: the collector replaces them by their originals
// before it publishes a code object.
constexpr OpcodeEntry kPython311[] = {
#include "collector/recorder/decode/opcodes/python_3_11.inc"
};
constexpr OpcodeEntry kPython312[] = {
#include "collector/recorder/decode/opcodes/python_3_12.inc"
};
constexpr OpcodeEntry kPython313[] = {
#include "collector/recorder/decode/opcodes/python_3_13.inc"
};
constexpr OpcodeEntry kPython314[] = {
#include "collector/recorder/decode/opcodes/python_3_14.inc"
};
constexpr OpcodeEntry kPython315[] = {
#include "collector/recorder/decode/opcodes/python_3_15.inc"
};

struct NamedRole {
  std::string_view name;
  OpcodeRole role;
};

using Role = OpcodeRole;

// A name means the same in every version that has it. All others continue with the next instruction, or raise.
constexpr NamedRole kRoles[] = {
    {"CACHE", Role::kCache},
    {"EXTENDED_ARG", Role::kExtendedArg},

    {"COPY", Role::kNeverRaises},
    {"LOAD_CONST", Role::kNeverRaises},
    {"LOAD_SMALL_INT", Role::kNeverRaises},
    {"NOP", Role::kNeverRaises},
    {"NOT_TAKEN", Role::kNeverRaises},
    {"POP_EXCEPT", Role::kNeverRaises},
    {"POP_TOP", Role::kNeverRaises},
    {"PUSH_EXC_INFO", Role::kNeverRaises},
    {"PUSH_NULL", Role::kNeverRaises},
    {"SWAP", Role::kNeverRaises},

    {"INTERPRETER_EXIT", Role::kReturn},
    {"RETURN_CONST", Role::kReturn},
    {"RETURN_VALUE", Role::kReturn},
    {"RAISE_VARARGS", Role::kRaise},
    {"RERAISE", Role::kRaise},

    {"JUMP_BACKWARD", Role::kJumpBackward},
    {"JUMP_BACKWARD_NO_INTERRUPT", Role::kJumpBackward},
    {"JUMP_FORWARD", Role::kJumpForward},
    {"FOR_ITER", Role::kBranchForward},
    {"JUMP_IF_FALSE_OR_POP", Role::kBranchForward},
    {"JUMP_IF_TRUE_OR_POP", Role::kBranchForward},
    {"POP_JUMP_FORWARD_IF_FALSE", Role::kBranchForward},
    {"POP_JUMP_FORWARD_IF_NONE", Role::kBranchForward},
    {"POP_JUMP_FORWARD_IF_NOT_NONE", Role::kBranchForward},
    {"POP_JUMP_FORWARD_IF_TRUE", Role::kBranchForward},
    {"POP_JUMP_IF_FALSE", Role::kBranchForward},
    {"POP_JUMP_IF_NONE", Role::kBranchForward},
    {"POP_JUMP_IF_NOT_NONE", Role::kBranchForward},
    {"POP_JUMP_IF_TRUE", Role::kBranchForward},
    {"SEND", Role::kBranchForward},
    {"POP_JUMP_BACKWARD_IF_FALSE", Role::kBranchBackward},
    {"POP_JUMP_BACKWARD_IF_NONE", Role::kBranchBackward},
    {"POP_JUMP_BACKWARD_IF_NOT_NONE", Role::kBranchBackward},
    {"POP_JUMP_BACKWARD_IF_TRUE", Role::kBranchBackward},
    {"END_ASYNC_FOR", Role::kOther},  // since 3.14 its argument says where the loop began, for monitoring alone

    {"DELETE_DEREF", Role::kDeleteDeref},
    {"DELETE_FAST", Role::kDeleteFast},
    {"LOAD_FAST_AND_CLEAR", Role::kClearFast},
    {"STORE_DEREF", Role::kStoreDeref},
    {"STORE_FAST", Role::kStoreFast},
    {"STORE_FAST_LOAD_FAST", Role::kStoreLoadFast},
    {"STORE_FAST_STORE_FAST", Role::kStoreTwoFast},
    {"LOAD_CLASSDEREF", Role::kOther},
    {"LOAD_CLOSURE", Role::kOther},
    {"LOAD_DEREF", Role::kOther},
    {"LOAD_FAST", Role::kOther},
    {"LOAD_FAST_BORROW", Role::kOther},
    {"LOAD_FAST_BORROW_LOAD_FAST_BORROW", Role::kOther},
    {"LOAD_FAST_CHECK", Role::kOther},
    {"LOAD_FAST_LOAD_FAST", Role::kOther},
    {"LOAD_FROM_DICT_OR_DEREF", Role::kOther},
    {"MAKE_CELL", Role::kOther},
};

consteval OpcodeRole role_of(const OpcodeEntry& entry) {
  const auto* const found = std::ranges::find(kRoles, entry.name, &NamedRole::name);
  if (found != std::end(kRoles)) return found->role;
  if (entry.kind != kPlain) throw "an opcode that jumps or uses a local must be in kRoles";
  return Role::kOther;
}

template <std::size_t N>
consteval OpcodeTable table_of(const OpcodeEntry (&entries)[N]) {
  OpcodeTable table{};
  for (const OpcodeEntry& entry : entries) table[entry.opcode] = OpcodeInfo{role_of(entry), entry.caches};
  return table;
}

constexpr OpcodeTable kTables[] = {table_of(kPython311), table_of(kPython312), table_of(kPython313),
                                   table_of(kPython314), table_of(kPython315)};
constexpr int kFirstMinor = 11;

}  // namespace

const OpcodeTable* opcode_table(int python) {
  const int minor = python & 0xff;
  const bool known =
      python >> 8 == 3 && minor >= kFirstMinor && minor < kFirstMinor + static_cast<int>(std::size(kTables));
  return known ? &kTables[minor - kFirstMinor] : nullptr;
}

}  // namespace dcmt::recorder
