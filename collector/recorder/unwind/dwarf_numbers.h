// Numbers of DWARF, the format of debug information: tags of entries, attributes and their forms, operations.
#pragma once

#include <cstdint>

namespace dcmt::recorder::dwarf {

/// Tags of entries.
inline constexpr std::uint64_t kFunctionTag = 0x2e, kInlinedTag = 0x1d, kBlockTag = 0x0b, kVariableTag = 0x34,
                               kArgumentTag = 0x05, kClassTag = 0x02, kStructTag = 0x13, kArrayTag = 0x01,
                               kTypedefTag = 0x16, kConstTag = 0x26, kVolatileTag = 0x35, kPointerTag = 0x0f,
                               kReferenceTag = 0x10, kMoveTag = 0x42, kMemberTag = 0x0d, kBaseTag = 0x1c,
                               kParameterTag = 0x2f, kNumberTag = 0x24, kEnumTag = 0x04;
/// Attributes.
inline constexpr std::uint64_t kName = 0x03, kLines = 0x10, kLow = 0x11, kHigh = 0x12, kOrigin = 0x31,
                               kSpecification = 0x47, kRanges = 0x55, kCallFile = 0x58, kCallLine = 0x59,
                               kLinkageName = 0x6e, kTextsBase = 0x72, kAddressesBase = 0x73, kRangesBase = 0x74,
                               kPlace = 0x02, kBytes = 0x0b, kFrameBase = 0x40, kType = 0x49, kFile = 0x3a,
                               kLine = 0x3b, kMemberPlace = 0x38, kEncoding = 0x3e, kDeclaration = 0x3c;
/// Operations of expressions: the frame's end, what lies at an offset from the base, and at an address.
inline constexpr std::uint8_t kFrameEnd = 0x9c, kFromBase = 0x91, kAtAddress = 0x03;
/// Encodings of numbers: signed, signed char.
inline constexpr std::uint64_t kSigned = 0x05, kSignedChar = 0x06;
/// Forms of attributes.
inline constexpr std::uint64_t kAddressForm = 0x01, kImplicit = 0x21, kIndirect = 0x16, kNumberedAddress = 0x1b,
                               kNumberedRanges = 0x23;
/// Types of units, and a length that another one follows.
inline constexpr std::uint8_t kWholeUnit = 0x01, kPartialUnit = 0x03;
inline constexpr std::uint64_t kLongUnit = 0xfffffff0;

}  // namespace dcmt::recorder::dwarf
