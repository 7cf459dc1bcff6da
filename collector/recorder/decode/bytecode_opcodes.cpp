#include "collector/recorder/decode/bytecode_opcodes.h"

namespace dcmt::recorder {
namespace {

struct OpcodeEntry {
  std::uint8_t opcode;
  std::uint8_t caches;
  OpcodeRole role;
};

using Role = OpcodeRole;

// From the modules `opcode` and `dis` of each version. Specialised and instrumented instructions are omitted on
// purpose: the collector replaces them by their originals before it publishes a code object.
constexpr OpcodeEntry kPython311[] = {
    {0, 0, Role::kCache},             // CACHE
    {1, 0, Role::kNeverRaises},       // POP_TOP
    {2, 0, Role::kNeverRaises},       // PUSH_NULL
    {9, 0, Role::kNeverRaises},       // NOP
    {10, 0, Role::kOther},            // UNARY_POSITIVE
    {11, 0, Role::kOther},            // UNARY_NEGATIVE
    {12, 0, Role::kOther},            // UNARY_NOT
    {15, 0, Role::kOther},            // UNARY_INVERT
    {25, 4, Role::kOther},            // BINARY_SUBSCR
    {30, 0, Role::kOther},            // GET_LEN
    {31, 0, Role::kOther},            // MATCH_MAPPING
    {32, 0, Role::kOther},            // MATCH_SEQUENCE
    {33, 0, Role::kOther},            // MATCH_KEYS
    {35, 0, Role::kNeverRaises},      // PUSH_EXC_INFO
    {36, 0, Role::kOther},            // CHECK_EXC_MATCH
    {37, 0, Role::kOther},            // CHECK_EG_MATCH
    {49, 0, Role::kOther},            // WITH_EXCEPT_START
    {50, 0, Role::kOther},            // GET_AITER
    {51, 0, Role::kOther},            // GET_ANEXT
    {52, 0, Role::kOther},            // BEFORE_ASYNC_WITH
    {53, 0, Role::kOther},            // BEFORE_WITH
    {54, 0, Role::kOther},            // END_ASYNC_FOR
    {60, 1, Role::kOther},            // STORE_SUBSCR
    {61, 0, Role::kOther},            // DELETE_SUBSCR
    {68, 0, Role::kOther},            // GET_ITER
    {69, 0, Role::kOther},            // GET_YIELD_FROM_ITER
    {70, 0, Role::kOther},            // PRINT_EXPR
    {71, 0, Role::kOther},            // LOAD_BUILD_CLASS
    {74, 0, Role::kOther},            // LOAD_ASSERTION_ERROR
    {75, 0, Role::kOther},            // RETURN_GENERATOR
    {82, 0, Role::kOther},            // LIST_TO_TUPLE
    {83, 0, Role::kReturn},           // RETURN_VALUE
    {84, 0, Role::kOther},            // IMPORT_STAR
    {85, 0, Role::kOther},            // SETUP_ANNOTATIONS
    {86, 0, Role::kOther},            // YIELD_VALUE
    {87, 0, Role::kOther},            // ASYNC_GEN_WRAP
    {88, 0, Role::kOther},            // PREP_RERAISE_STAR
    {89, 0, Role::kNeverRaises},      // POP_EXCEPT
    {90, 0, Role::kOther},            // STORE_NAME
    {91, 0, Role::kOther},            // DELETE_NAME
    {92, 1, Role::kOther},            // UNPACK_SEQUENCE
    {93, 0, Role::kBranchForward},    // FOR_ITER
    {94, 0, Role::kOther},            // UNPACK_EX
    {95, 4, Role::kOther},            // STORE_ATTR
    {96, 0, Role::kOther},            // DELETE_ATTR
    {97, 0, Role::kOther},            // STORE_GLOBAL
    {98, 0, Role::kOther},            // DELETE_GLOBAL
    {99, 0, Role::kNeverRaises},      // SWAP
    {100, 0, Role::kNeverRaises},     // LOAD_CONST
    {101, 0, Role::kOther},           // LOAD_NAME
    {102, 0, Role::kOther},           // BUILD_TUPLE
    {103, 0, Role::kOther},           // BUILD_LIST
    {104, 0, Role::kOther},           // BUILD_SET
    {105, 0, Role::kOther},           // BUILD_MAP
    {106, 4, Role::kOther},           // LOAD_ATTR
    {107, 2, Role::kOther},           // COMPARE_OP
    {108, 0, Role::kOther},           // IMPORT_NAME
    {109, 0, Role::kOther},           // IMPORT_FROM
    {110, 0, Role::kJumpForward},     // JUMP_FORWARD
    {111, 0, Role::kBranchForward},   // JUMP_IF_FALSE_OR_POP
    {112, 0, Role::kBranchForward},   // JUMP_IF_TRUE_OR_POP
    {114, 0, Role::kBranchForward},   // POP_JUMP_FORWARD_IF_FALSE
    {115, 0, Role::kBranchForward},   // POP_JUMP_FORWARD_IF_TRUE
    {116, 5, Role::kOther},           // LOAD_GLOBAL
    {117, 0, Role::kOther},           // IS_OP
    {118, 0, Role::kOther},           // CONTAINS_OP
    {119, 0, Role::kRaise},           // RERAISE
    {120, 0, Role::kNeverRaises},     // COPY
    {122, 1, Role::kOther},           // BINARY_OP
    {123, 0, Role::kBranchForward},   // SEND
    {124, 0, Role::kOther},           // LOAD_FAST
    {125, 0, Role::kStoreFast},       // STORE_FAST
    {126, 0, Role::kDeleteFast},      // DELETE_FAST
    {128, 0, Role::kBranchForward},   // POP_JUMP_FORWARD_IF_NOT_NONE
    {129, 0, Role::kBranchForward},   // POP_JUMP_FORWARD_IF_NONE
    {130, 0, Role::kRaise},           // RAISE_VARARGS
    {131, 0, Role::kOther},           // GET_AWAITABLE
    {132, 0, Role::kOther},           // MAKE_FUNCTION
    {133, 0, Role::kOther},           // BUILD_SLICE
    {134, 0, Role::kJumpBackward},    // JUMP_BACKWARD_NO_INTERRUPT
    {135, 0, Role::kOther},           // MAKE_CELL
    {136, 0, Role::kOther},           // LOAD_CLOSURE
    {137, 0, Role::kOther},           // LOAD_DEREF
    {138, 0, Role::kStoreDeref},      // STORE_DEREF
    {139, 0, Role::kDeleteDeref},     // DELETE_DEREF
    {140, 0, Role::kJumpBackward},    // JUMP_BACKWARD
    {142, 0, Role::kOther},           // CALL_FUNCTION_EX
    {144, 0, Role::kExtendedArg},     // EXTENDED_ARG
    {145, 0, Role::kOther},           // LIST_APPEND
    {146, 0, Role::kOther},           // SET_ADD
    {147, 0, Role::kOther},           // MAP_ADD
    {148, 0, Role::kOther},           // LOAD_CLASSDEREF
    {149, 0, Role::kOther},           // COPY_FREE_VARS
    {151, 0, Role::kOther},           // RESUME
    {152, 0, Role::kOther},           // MATCH_CLASS
    {155, 0, Role::kOther},           // FORMAT_VALUE
    {156, 0, Role::kOther},           // BUILD_CONST_KEY_MAP
    {157, 0, Role::kOther},           // BUILD_STRING
    {160, 10, Role::kOther},          // LOAD_METHOD
    {162, 0, Role::kOther},           // LIST_EXTEND
    {163, 0, Role::kOther},           // SET_UPDATE
    {164, 0, Role::kOther},           // DICT_MERGE
    {165, 0, Role::kOther},           // DICT_UPDATE
    {166, 1, Role::kOther},           // PRECALL
    {171, 4, Role::kOther},           // CALL
    {172, 0, Role::kOther},           // KW_NAMES
    {173, 0, Role::kBranchBackward},  // POP_JUMP_BACKWARD_IF_NOT_NONE
    {174, 0, Role::kBranchBackward},  // POP_JUMP_BACKWARD_IF_NONE
    {175, 0, Role::kBranchBackward},  // POP_JUMP_BACKWARD_IF_FALSE
    {176, 0, Role::kBranchBackward},  // POP_JUMP_BACKWARD_IF_TRUE
};

constexpr OpcodeEntry kPython312[] = {
    {0, 0, Role::kCache},            // CACHE
    {1, 0, Role::kNeverRaises},      // POP_TOP
    {2, 0, Role::kNeverRaises},      // PUSH_NULL
    {3, 0, Role::kReturn},           // INTERPRETER_EXIT
    {4, 0, Role::kOther},            // END_FOR
    {5, 0, Role::kOther},            // END_SEND
    {9, 0, Role::kNeverRaises},      // NOP
    {11, 0, Role::kOther},           // UNARY_NEGATIVE
    {12, 0, Role::kOther},           // UNARY_NOT
    {15, 0, Role::kOther},           // UNARY_INVERT
    {17, 0, Role::kOther},           // RESERVED
    {25, 1, Role::kOther},           // BINARY_SUBSCR
    {26, 0, Role::kOther},           // BINARY_SLICE
    {27, 0, Role::kOther},           // STORE_SLICE
    {30, 0, Role::kOther},           // GET_LEN
    {31, 0, Role::kOther},           // MATCH_MAPPING
    {32, 0, Role::kOther},           // MATCH_SEQUENCE
    {33, 0, Role::kOther},           // MATCH_KEYS
    {35, 0, Role::kNeverRaises},     // PUSH_EXC_INFO
    {36, 0, Role::kOther},           // CHECK_EXC_MATCH
    {37, 0, Role::kOther},           // CHECK_EG_MATCH
    {49, 0, Role::kOther},           // WITH_EXCEPT_START
    {50, 0, Role::kOther},           // GET_AITER
    {51, 0, Role::kOther},           // GET_ANEXT
    {52, 0, Role::kOther},           // BEFORE_ASYNC_WITH
    {53, 0, Role::kOther},           // BEFORE_WITH
    {54, 0, Role::kOther},           // END_ASYNC_FOR
    {55, 0, Role::kOther},           // CLEANUP_THROW
    {60, 1, Role::kOther},           // STORE_SUBSCR
    {61, 0, Role::kOther},           // DELETE_SUBSCR
    {68, 0, Role::kOther},           // GET_ITER
    {69, 0, Role::kOther},           // GET_YIELD_FROM_ITER
    {71, 0, Role::kOther},           // LOAD_BUILD_CLASS
    {74, 0, Role::kOther},           // LOAD_ASSERTION_ERROR
    {75, 0, Role::kOther},           // RETURN_GENERATOR
    {83, 0, Role::kReturn},          // RETURN_VALUE
    {85, 0, Role::kOther},           // SETUP_ANNOTATIONS
    {87, 0, Role::kOther},           // LOAD_LOCALS
    {89, 0, Role::kNeverRaises},     // POP_EXCEPT
    {90, 0, Role::kOther},           // STORE_NAME
    {91, 0, Role::kOther},           // DELETE_NAME
    {92, 1, Role::kOther},           // UNPACK_SEQUENCE
    {93, 1, Role::kBranchForward},   // FOR_ITER
    {94, 0, Role::kOther},           // UNPACK_EX
    {95, 4, Role::kOther},           // STORE_ATTR
    {96, 0, Role::kOther},           // DELETE_ATTR
    {97, 0, Role::kOther},           // STORE_GLOBAL
    {98, 0, Role::kOther},           // DELETE_GLOBAL
    {99, 0, Role::kNeverRaises},     // SWAP
    {100, 0, Role::kNeverRaises},    // LOAD_CONST
    {101, 0, Role::kOther},          // LOAD_NAME
    {102, 0, Role::kOther},          // BUILD_TUPLE
    {103, 0, Role::kOther},          // BUILD_LIST
    {104, 0, Role::kOther},          // BUILD_SET
    {105, 0, Role::kOther},          // BUILD_MAP
    {106, 9, Role::kOther},          // LOAD_ATTR
    {107, 1, Role::kOther},          // COMPARE_OP
    {108, 0, Role::kOther},          // IMPORT_NAME
    {109, 0, Role::kOther},          // IMPORT_FROM
    {110, 0, Role::kJumpForward},    // JUMP_FORWARD
    {114, 0, Role::kBranchForward},  // POP_JUMP_IF_FALSE
    {115, 0, Role::kBranchForward},  // POP_JUMP_IF_TRUE
    {116, 4, Role::kOther},          // LOAD_GLOBAL
    {117, 0, Role::kOther},          // IS_OP
    {118, 0, Role::kOther},          // CONTAINS_OP
    {119, 0, Role::kRaise},          // RERAISE
    {120, 0, Role::kNeverRaises},    // COPY
    {121, 0, Role::kReturn},         // RETURN_CONST
    {122, 1, Role::kOther},          // BINARY_OP
    {123, 1, Role::kBranchForward},  // SEND
    {124, 0, Role::kOther},          // LOAD_FAST
    {125, 0, Role::kStoreFast},      // STORE_FAST
    {126, 0, Role::kDeleteFast},     // DELETE_FAST
    {127, 0, Role::kOther},          // LOAD_FAST_CHECK
    {128, 0, Role::kBranchForward},  // POP_JUMP_IF_NOT_NONE
    {129, 0, Role::kBranchForward},  // POP_JUMP_IF_NONE
    {130, 0, Role::kRaise},          // RAISE_VARARGS
    {131, 0, Role::kOther},          // GET_AWAITABLE
    {132, 0, Role::kOther},          // MAKE_FUNCTION
    {133, 0, Role::kOther},          // BUILD_SLICE
    {134, 0, Role::kJumpBackward},   // JUMP_BACKWARD_NO_INTERRUPT
    {135, 0, Role::kOther},          // MAKE_CELL
    {136, 0, Role::kOther},          // LOAD_CLOSURE
    {137, 0, Role::kOther},          // LOAD_DEREF
    {138, 0, Role::kStoreDeref},     // STORE_DEREF
    {139, 0, Role::kDeleteDeref},    // DELETE_DEREF
    {140, 0, Role::kJumpBackward},   // JUMP_BACKWARD
    {141, 1, Role::kOther},          // LOAD_SUPER_ATTR
    {142, 0, Role::kOther},          // CALL_FUNCTION_EX
    {143, 0, Role::kClearFast},      // LOAD_FAST_AND_CLEAR
    {144, 0, Role::kExtendedArg},    // EXTENDED_ARG
    {145, 0, Role::kOther},          // LIST_APPEND
    {146, 0, Role::kOther},          // SET_ADD
    {147, 0, Role::kOther},          // MAP_ADD
    {149, 0, Role::kOther},          // COPY_FREE_VARS
    {150, 0, Role::kOther},          // YIELD_VALUE
    {151, 0, Role::kOther},          // RESUME
    {152, 0, Role::kOther},          // MATCH_CLASS
    {155, 0, Role::kOther},          // FORMAT_VALUE
    {156, 0, Role::kOther},          // BUILD_CONST_KEY_MAP
    {157, 0, Role::kOther},          // BUILD_STRING
    {162, 0, Role::kOther},          // LIST_EXTEND
    {163, 0, Role::kOther},          // SET_UPDATE
    {164, 0, Role::kOther},          // DICT_MERGE
    {165, 0, Role::kOther},          // DICT_UPDATE
    {171, 3, Role::kOther},          // CALL
    {172, 0, Role::kOther},          // KW_NAMES
    {173, 0, Role::kOther},          // CALL_INTRINSIC_1
    {174, 0, Role::kOther},          // CALL_INTRINSIC_2
    {175, 0, Role::kOther},          // LOAD_FROM_DICT_OR_GLOBALS
    {176, 0, Role::kOther},          // LOAD_FROM_DICT_OR_DEREF
};

constexpr OpcodeEntry kPython313[] = {
    {0, 0, Role::kCache},            // CACHE
    {1, 0, Role::kOther},            // BEFORE_ASYNC_WITH
    {2, 0, Role::kOther},            // BEFORE_WITH
    {4, 0, Role::kOther},            // BINARY_SLICE
    {5, 1, Role::kOther},            // BINARY_SUBSCR
    {6, 0, Role::kOther},            // CHECK_EG_MATCH
    {7, 0, Role::kOther},            // CHECK_EXC_MATCH
    {8, 0, Role::kOther},            // CLEANUP_THROW
    {9, 0, Role::kOther},            // DELETE_SUBSCR
    {10, 0, Role::kOther},           // END_ASYNC_FOR
    {11, 0, Role::kOther},           // END_FOR
    {12, 0, Role::kOther},           // END_SEND
    {13, 0, Role::kOther},           // EXIT_INIT_CHECK
    {14, 0, Role::kOther},           // FORMAT_SIMPLE
    {15, 0, Role::kOther},           // FORMAT_WITH_SPEC
    {16, 0, Role::kOther},           // GET_AITER
    {18, 0, Role::kOther},           // GET_ANEXT
    {19, 0, Role::kOther},           // GET_ITER
    {20, 0, Role::kOther},           // GET_LEN
    {21, 0, Role::kOther},           // GET_YIELD_FROM_ITER
    {22, 0, Role::kReturn},          // INTERPRETER_EXIT
    {23, 0, Role::kOther},           // LOAD_ASSERTION_ERROR
    {24, 0, Role::kOther},           // LOAD_BUILD_CLASS
    {25, 0, Role::kOther},           // LOAD_LOCALS
    {26, 0, Role::kOther},           // MAKE_FUNCTION
    {27, 0, Role::kOther},           // MATCH_KEYS
    {28, 0, Role::kOther},           // MATCH_MAPPING
    {29, 0, Role::kOther},           // MATCH_SEQUENCE
    {30, 0, Role::kNeverRaises},     // NOP
    {31, 0, Role::kNeverRaises},     // POP_EXCEPT
    {32, 0, Role::kNeverRaises},     // POP_TOP
    {33, 0, Role::kNeverRaises},     // PUSH_EXC_INFO
    {34, 0, Role::kNeverRaises},     // PUSH_NULL
    {35, 0, Role::kOther},           // RETURN_GENERATOR
    {36, 0, Role::kReturn},          // RETURN_VALUE
    {37, 0, Role::kOther},           // SETUP_ANNOTATIONS
    {38, 0, Role::kOther},           // STORE_SLICE
    {39, 1, Role::kOther},           // STORE_SUBSCR
    {40, 3, Role::kOther},           // TO_BOOL
    {41, 0, Role::kOther},           // UNARY_INVERT
    {42, 0, Role::kOther},           // UNARY_NEGATIVE
    {43, 0, Role::kOther},           // UNARY_NOT
    {44, 0, Role::kOther},           // WITH_EXCEPT_START
    {45, 1, Role::kOther},           // BINARY_OP
    {46, 0, Role::kOther},           // BUILD_CONST_KEY_MAP
    {47, 0, Role::kOther},           // BUILD_LIST
    {48, 0, Role::kOther},           // BUILD_MAP
    {49, 0, Role::kOther},           // BUILD_SET
    {50, 0, Role::kOther},           // BUILD_SLICE
    {51, 0, Role::kOther},           // BUILD_STRING
    {52, 0, Role::kOther},           // BUILD_TUPLE
    {53, 3, Role::kOther},           // CALL
    {54, 0, Role::kOther},           // CALL_FUNCTION_EX
    {55, 0, Role::kOther},           // CALL_INTRINSIC_1
    {56, 0, Role::kOther},           // CALL_INTRINSIC_2
    {57, 0, Role::kOther},           // CALL_KW
    {58, 1, Role::kOther},           // COMPARE_OP
    {59, 1, Role::kOther},           // CONTAINS_OP
    {60, 0, Role::kOther},           // CONVERT_VALUE
    {61, 0, Role::kNeverRaises},     // COPY
    {62, 0, Role::kOther},           // COPY_FREE_VARS
    {63, 0, Role::kOther},           // DELETE_ATTR
    {64, 0, Role::kDeleteDeref},     // DELETE_DEREF
    {65, 0, Role::kDeleteFast},      // DELETE_FAST
    {66, 0, Role::kOther},           // DELETE_GLOBAL
    {67, 0, Role::kOther},           // DELETE_NAME
    {68, 0, Role::kOther},           // DICT_MERGE
    {69, 0, Role::kOther},           // DICT_UPDATE
    {71, 0, Role::kExtendedArg},     // EXTENDED_ARG
    {72, 1, Role::kBranchForward},   // FOR_ITER
    {73, 0, Role::kOther},           // GET_AWAITABLE
    {74, 0, Role::kOther},           // IMPORT_FROM
    {75, 0, Role::kOther},           // IMPORT_NAME
    {76, 0, Role::kOther},           // IS_OP
    {77, 1, Role::kJumpBackward},    // JUMP_BACKWARD
    {78, 0, Role::kJumpBackward},    // JUMP_BACKWARD_NO_INTERRUPT
    {79, 0, Role::kJumpForward},     // JUMP_FORWARD
    {80, 0, Role::kOther},           // LIST_APPEND
    {81, 0, Role::kOther},           // LIST_EXTEND
    {82, 9, Role::kOther},           // LOAD_ATTR
    {83, 0, Role::kNeverRaises},     // LOAD_CONST
    {84, 0, Role::kOther},           // LOAD_DEREF
    {85, 0, Role::kOther},           // LOAD_FAST
    {86, 0, Role::kClearFast},       // LOAD_FAST_AND_CLEAR
    {87, 0, Role::kOther},           // LOAD_FAST_CHECK
    {88, 0, Role::kOther},           // LOAD_FAST_LOAD_FAST
    {89, 0, Role::kOther},           // LOAD_FROM_DICT_OR_DEREF
    {90, 0, Role::kOther},           // LOAD_FROM_DICT_OR_GLOBALS
    {91, 4, Role::kOther},           // LOAD_GLOBAL
    {92, 0, Role::kOther},           // LOAD_NAME
    {93, 1, Role::kOther},           // LOAD_SUPER_ATTR
    {94, 0, Role::kOther},           // MAKE_CELL
    {95, 0, Role::kOther},           // MAP_ADD
    {96, 0, Role::kOther},           // MATCH_CLASS
    {97, 1, Role::kBranchForward},   // POP_JUMP_IF_FALSE
    {98, 1, Role::kBranchForward},   // POP_JUMP_IF_NONE
    {99, 1, Role::kBranchForward},   // POP_JUMP_IF_NOT_NONE
    {100, 1, Role::kBranchForward},  // POP_JUMP_IF_TRUE
    {101, 0, Role::kRaise},          // RAISE_VARARGS
    {102, 0, Role::kRaise},          // RERAISE
    {103, 0, Role::kReturn},         // RETURN_CONST
    {104, 1, Role::kBranchForward},  // SEND
    {105, 0, Role::kOther},          // SET_ADD
    {106, 0, Role::kOther},          // SET_FUNCTION_ATTRIBUTE
    {107, 0, Role::kOther},          // SET_UPDATE
    {108, 4, Role::kOther},          // STORE_ATTR
    {109, 0, Role::kStoreDeref},     // STORE_DEREF
    {110, 0, Role::kStoreFast},      // STORE_FAST
    {111, 0, Role::kStoreLoadFast},  // STORE_FAST_LOAD_FAST
    {112, 0, Role::kStoreTwoFast},   // STORE_FAST_STORE_FAST
    {113, 0, Role::kOther},          // STORE_GLOBAL
    {114, 0, Role::kOther},          // STORE_NAME
    {115, 0, Role::kNeverRaises},    // SWAP
    {116, 0, Role::kOther},          // UNPACK_EX
    {117, 1, Role::kOther},          // UNPACK_SEQUENCE
    {118, 0, Role::kOther},          // YIELD_VALUE
    {149, 0, Role::kOther},          // RESUME
};

template <std::size_t N>
constexpr OpcodeTable table_of(const OpcodeEntry (&entries)[N]) {
  OpcodeTable table{};
  for (const OpcodeEntry& entry : entries) table[entry.opcode] = OpcodeInfo{entry.role, entry.caches};
  return table;
}

constexpr OpcodeTable kTable311 = table_of(kPython311);
constexpr OpcodeTable kTable312 = table_of(kPython312);
constexpr OpcodeTable kTable313 = table_of(kPython313);

}  // namespace

const OpcodeTable* opcode_table(int python) {
  switch (python) {
    case (3 << 8) | 11:
      return &kTable311;
    case (3 << 8) | 12:
      return &kTable312;
    case (3 << 8) | 13:
      return &kTable313;
    default:
      return nullptr;
  }
}

}  // namespace dcmt::recorder
