// How a function's frame is left, at each of its instructions: the unwinding information of an ELF file (.eh_frame).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "collector/scan/process/elf_file.h"

namespace dcmt::recorder {

/// Where the caller's value of a register is.
struct RegisterRule {
  enum class Kind : std::uint8_t { kSame, kSaved, kUnknown };
  Kind kind = Kind::kSame;
  std::int64_t offset = 0;  ///< saved: from the frame's address
};

/// Numbers of registers in x86-64's DWARF.
inline constexpr std::size_t kRbx = 3, kRbp = 6, kRsp = 7, kReturn = 16, kRegisters = 17;

struct FrameRules {
  std::size_t base = kRsp;  ///< the frame's address is this register plus `offset`
  std::int64_t offset = 0;
  std::array<RegisterRule, kRegisters> registers = {};
};

/// The rules at an instruction, by its address in the file. Nothing if the file does not say, or says it by an
/// expression.
[[nodiscard]] std::optional<FrameRules> frame_rules(const scan::ElfFile& file, scan::Address instruction);

}  // namespace dcmt::recorder
