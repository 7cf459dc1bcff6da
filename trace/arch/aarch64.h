// See trace/arch/arch.h, which includes this. Each name has its meaning in x86_64.h.
#pragma once

#include <asm/sigcontext.h>
#include <elf.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

#include "trace/arch/code_point.h"

namespace dcmt::arch {

inline constexpr char kName[] = "aarch64";
inline constexpr char kMachine[] = "aarch64";
inline constexpr char kOldestGlibc[] = "GLIBC_2.17";

inline constexpr unsigned kElfMachine = EM_AARCH64;
inline constexpr unsigned kCallSlot = R_AARCH64_JUMP_SLOT, kAddressSlot = R_AARCH64_GLOB_DAT,
                          kDataSlot = R_AARCH64_ABS64;

/// A kernel with 52 bits maps nothing above, unless a program asks for it by an address.
inline constexpr unsigned kAddressBits = 48;

inline constexpr std::size_t kLargestPage = 65536;

/// The system's counter: 1 GHz, or less before Armv8.6.
[[gnu::always_inline]] inline std::uint64_t cycles() noexcept {
  std::uint64_t count = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
}

template <class T>
[[gnu::always_inline]] inline void fetch_to_write(const T& at) noexcept {
  __builtin_prefetch(&at, 1);
}
template <class T>
[[gnu::always_inline]] inline void fetch_to_write(const T& at, const T& and_at) noexcept {
  __builtin_prefetch(&at, 1);
  __builtin_prefetch(&and_at, 1);
}

[[gnu::always_inline]] inline CodePoint code_point_here() noexcept {
  CodePoint here;
  asm volatile(
      "adr %0, .\n\t"
      "mov %1, sp\n\t"
      "mov %2, x29"
      : "=&r"(here.instruction), "=&r"(here.stack_pointer), "=r"(here.frame_pointer));
  return here;
}

inline CodePoint code_point_of(const ucontext_t& interrupted) noexcept {
  const auto& registers = interrupted.uc_mcontext;
  constexpr int kX29 = 29;
  return {registers.pc, registers.sp, registers.regs[kX29]};
}

/// By the kernel's description of the fault, a record beside the registers. Without one: a read.
inline bool fault_writes(const ucontext_t& interrupted) noexcept {
  constexpr std::uint64_t kWrites = 1 << 6;
  const auto& records = interrupted.uc_mcontext.__reserved;
  for (std::size_t at = 0; at + sizeof(esr_context) <= sizeof records;) {
    _aarch64_ctx head;
    __builtin_memcpy(&head, records + at, sizeof head);
    if (head.magic == 0 || head.size < sizeof head) return false;
    esr_context fault;
    __builtin_memcpy(&fault, records + at, sizeof fault);
    if (head.magic == ESR_MAGIC) return (fault.esr & kWrites) != 0;
    at += head.size;
  }
  return false;
}

inline constexpr std::uint64_t kFramePointer = 29, kStackPointer = 31, kReturnAddress = 30;
inline constexpr std::uint8_t kFramePointerPlus = 0x8d;
inline constexpr bool kCallSavesReturn = false;
/// Without the signature that a processor with pointer authentication puts into its upper bits.
inline std::uint64_t return_address(std::uint64_t saved) noexcept {
  register std::uint64_t x30 asm("x30") = saved;
  asm("hint #7" : "+r"(x30));  // xpaclri; nothing on older processors
  return x30;
}

inline constexpr const char* kNoWatchpoints = "dc-memtrace has no watchpoints on aarch64";
inline constexpr unsigned char kSignalReturn[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
inline constexpr const char* kNoEntering = "dc-memtrace enters no running process on aarch64";
inline constexpr bool kVariablesBeforeThread = false;

}  // namespace dcmt::arch
