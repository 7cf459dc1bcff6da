// See trace/arch/arch.h, which includes this.
#pragma once

#include <elf.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>

#include "trace/arch/code_point.h"

namespace dcmt::arch {

/// As people write it, and as uname() does.
inline constexpr char kName[] = "x86-64";
inline constexpr char kMachine[] = "x86_64";
/// The version of the oldest symbols in its C library.
inline constexpr char kOldestGlibc[] = "GLIBC_2.2.5";

// ELF: files of this architecture; slots of called functions, of addresses used in code, and of addresses in data.
inline constexpr unsigned kElfMachine = EM_X86_64;
inline constexpr unsigned kCallSlot = R_X86_64_JUMP_SLOT, kAddressSlot = R_X86_64_GLOB_DAT, kDataSlot = R_X86_64_64;

/// Addresses of a program are below 2 to this power.
inline constexpr unsigned kAddressBits = 47;

/// No kernel has larger pages.
inline constexpr std::size_t kLargestPage = 4096;

/// A counter that all cores share and that never stops.
[[gnu::always_inline]] inline std::uint64_t cycles() noexcept { return __builtin_ia32_rdtsc(); }

/// Fetches a cache line that is about to be written.
template <class T>
[[gnu::always_inline]] inline void fetch_to_write(const T& at) noexcept {
  asm volatile("prefetchw %0" : : "m"(at));
}
/// The same of two lines.
template <class T>
[[gnu::always_inline]] inline void fetch_to_write(const T& at, const T& and_at) noexcept {
  asm volatile("prefetchw %0\n\tprefetchw %1" : : "m"(at), "m"(and_at));
}

[[gnu::always_inline]] inline CodePoint code_point_here() noexcept {
  CodePoint here;
  asm volatile(
      "leaq 0(%%rip), %0\n\t"
      "movq %%rsp, %1\n\t"
      "movq %%rbp, %2"
      : "=a"(here.instruction), "=c"(here.stack_pointer), "=d"(here.frame_pointer));
  return here;
}

/// Where a signal interrupted its thread.
inline CodePoint code_point_of(const ucontext_t& interrupted) noexcept {
  const auto word = [&](int number) { return static_cast<std::uint64_t>(interrupted.uc_mcontext.gregs[number]); };
  return {word(REG_RIP), word(REG_RSP), word(REG_RBP)};
}

/// True if the access that caused SIGSEGV was a write.
inline bool fault_writes(const ucontext_t& interrupted) noexcept {
  constexpr long long kWrites = 2;
  return (interrupted.uc_mcontext.gregs[REG_ERR] & kWrites) != 0;
}

// Unwinding: DWARF's numbers of registers, and its operation "the frame pointer plus a number".
inline constexpr std::uint64_t kFramePointer = 6, kStackPointer = 7, kReturnAddress = 16;
inline constexpr std::uint8_t kFramePointerPlus = 0x76;
/// A call writes the return address right before the frame's end. Elsewhere a function saves it beside the caller's
/// frame pointer.
inline constexpr bool kCallSavesReturn = true;
/// The address in a saved return address.
inline std::uint64_t return_address(std::uint64_t saved) noexcept { return saved; }

/// nullptr, or why watchpoints are not used.
inline constexpr const char* kNoWatchpoints = nullptr;
/// rt_sigreturn of the C library, after a signal's handler: mov $15, %rax; syscall. Unwinders search for these bytes,
/// too, so they do not change.
inline constexpr unsigned char kSignalReturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};

/// nullptr, or why no thread of a running process is made to load the agent.
inline constexpr const char* kNoEntering = nullptr;
/// Whether the variables of a thread lie before its control block, which begins with its own address.
inline constexpr bool kVariablesBeforeThread = true;

}  // namespace dcmt::arch
