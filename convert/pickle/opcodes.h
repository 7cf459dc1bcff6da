// The opcodes of Python's pickle, with the names of Lib/pickle.py.
#pragma once

#include <cstdint>
#include <string_view>

namespace dcmt::convert::opcode {

// Opcodes of plain data.
inline constexpr std::uint8_t kProto = 0x80, kStop = '.', kFrame = 0x95, kMark = '(', kPop = '0', kPopMark = '1',
                              kDup = '2', kNone = 'N', kNewTrue = 0x88, kNewFalse = 0x89, kBinInt = 'J', kBinInt1 = 'K',
                              kBinInt2 = 'M', kLong1 = 0x8a, kLong4 = 0x8b, kBinFloat = 'G', kBinUnicode = 'X',
                              kShortBinUnicode = 0x8c, kBinUnicode8 = 0x8d, kBinBytes = 'B', kShortBinBytes = 'C',
                              kBinBytes8 = 0x8e, kEmptyList = ']', kAppend = 'a', kAppends = 'e', kList = 'l',
                              kEmptyTuple = ')', kTuple = 't', kTuple1 = 0x85, kTuple2 = 0x86, kTuple3 = 0x87,
                              kEmptyDict = '}', kDict = 'd', kSetItem = 's', kSetItems = 'u', kBinGet = 'h',
                              kLongBinGet = 'j', kBinPut = 'q', kLongBinPut = 'r', kMemoize = 0x94;

/// The name of an opcode that imports, calls or makes anything but plain data; empty for any other byte.
constexpr std::string_view name_of_refused(std::uint8_t code) {
  switch (code) {
    case 'c':
      return "GLOBAL";
    case 0x93:
      return "STACK_GLOBAL";
    case 'R':
      return "REDUCE";
    case 'b':
      return "BUILD";
    case 'i':
      return "INST";
    case 'o':
      return "OBJ";
    case 0x81:
      return "NEWOBJ";
    case 0x92:
      return "NEWOBJ_EX";
    case 'P':
      return "PERSID";
    case 'Q':
      return "BINPERSID";
    case 0x82:
      return "EXT1";
    case 0x83:
      return "EXT2";
    case 0x84:
      return "EXT4";
    case 0x8f:
      return "EMPTY_SET";
    case 0x90:
      return "ADDITEMS";
    case 0x91:
      return "FROZENSET";
    case 0x96:
      return "BYTEARRAY8";
    case 0x97:
      return "NEXT_BUFFER";
    case 0x98:
      return "READONLY_BUFFER";
    default:
      return {};
  }
}

}  // namespace dcmt::convert::opcode
