// call_by() of borrow_thread.h, by the registers and the signal frame of x86-64.
#include <elf.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "collector/recorder/target/borrow_thread.h"

namespace dcmt::recorder {
namespace {

constexpr std::size_t kRedZone = 128;
constexpr std::size_t kMostState = 16384;     // vector registers; with AMX they have 11 KiB
constexpr std::size_t kStackRoom = 96 << 10;  // the loader may need this much of the thread's stack
constexpr timespec kMostUntilStop{0, 20'000'000};
// Offsets in a signal frame's image of the vector registers (asm/sigcontext.h).
constexpr std::size_t kSoftwareBytes = 464;
constexpr std::uint32_t kMagic1 = 0x46505853;
constexpr std::uint32_t kMagic2 = 0x46505845;
// uc_flags: extended state is present, ss is saved, and is restored unchanged.
constexpr unsigned long kContextFlags = 1 | 2 | 4;
// Kernel-internal results of an interrupted wait that is restarted.
constexpr long kFirstRestart = 512;
constexpr long kLastRestart = 516;

sigset_t stop_signal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  return signals;
}

struct Written {
  std::uint64_t to;
  const void* bytes;
  std::size_t size;
};

/// A thread that this process traces until it is released.
class Traced {
 public:
  Traced(pid_t pid, pid_t thread) : pid_(pid), thread_(thread) {}
  ~Traced() {
    if (seized_) ptrace(PTRACE_DETACH, thread_, nullptr, signal_);
  }
  Traced(const Traced&) = delete;
  Traced& operator=(const Traced&) = delete;

  bool seize() { return seized_ = ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr) == 0; }

  /// True if we have stopped it, and nothing else has.
  bool stop() {
    if (ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) != 0) return false;
    int status = 0;
    const sigset_t stops = stop_signal();
    while (waitpid(thread_, &status, __WALL | WNOHANG) != thread_) {
      // It does not stop, and cannot be released before it stops: the end of this process releases it.
      if (sigtimedwait(&stops, nullptr, &kMostUntilStop) < 0 && errno == EAGAIN) _exit(EXIT_FAILURE);
    }
    if (!WIFSTOPPED(status)) {  // it has ended
      seized_ = false;
      return false;
    }
    if (status >> 16 == 0) signal_ = WSTOPSIG(status);  // a signal for the program, which is passed on
    return status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
  }

  bool get(user_regs_struct& registers) { return ptrace(PTRACE_GETREGS, thread_, nullptr, &registers) == 0; }
  bool set(user_regs_struct& registers) { return ptrace(PTRACE_SETREGS, thread_, nullptr, &registers) == 0; }
  bool get_mask(std::uint64_t& mask) { return ptrace(PTRACE_GETSIGMASK, thread_, sizeof mask, &mask) == 0; }
  bool set_mask(std::uint64_t mask) { return ptrace(PTRACE_SETSIGMASK, thread_, sizeof mask, &mask) == 0; }
  /// The size of its vector registers; 0 if they cannot be read.
  std::size_t get_state(std::array<std::byte, kMostState>& state) {
    constexpr std::size_t kWord = 8;  // the kernel needs whole words; the last word is for the mark after the image
    iovec into{state.data(), state.size() - kWord};
    return ptrace(PTRACE_GETREGSET, thread_, NT_X86_XSTATE, &into) == 0 ? into.iov_len : 0;
  }

  /// Writes all of them at once.
  template <std::size_t kCount>
  [[nodiscard]] bool write(const std::array<Written, kCount>& all) const {
    std::array<iovec, kCount> from{};
    std::array<iovec, kCount> there{};
    std::size_t size = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      from[i] = {const_cast<void*>(all[i].bytes), all[i].size};
      there[i] = {reinterpret_cast<void*>(all[i].to), all[i].size};  // NOLINT(performance-no-int-to-ptr)
      size += all[i].size;
    }
    return process_vm_writev(pid_, from.data(), kCount, there.data(), kCount, 0) == static_cast<ssize_t>(size);
  }

 private:
  pid_t pid_;
  pid_t thread_;
  bool seized_ = false;
  long signal_ = 0;
};

/// Still asleep, and about to restart its wait.
bool waits(const user_regs_struct& registers) {
  const long restart = -static_cast<long>(registers.rax);
  return static_cast<long>(registers.orig_rax) >= 0 && restart >= kFirstRestart && restart <= kLastRestart;
}

bool is_in(const scan::CodeRange& loop, const user_regs_struct& registers) {
  return static_cast<long>(registers.orig_rax) < 0 && loop.contains(registers.rip);
}

/// The frame of a signal that arrived when the thread was about to make its call, or was running.
ucontext_t context_of(const user_regs_struct& registers, std::uint64_t mask, std::uint64_t state) {
  ucontext_t context{};
  context.uc_flags = kContextFlags;
  context.uc_stack.ss_flags = SS_DISABLE;
  auto& to = context.uc_mcontext.gregs;
  const auto put = [&](int which, unsigned long value) { to[which] = static_cast<greg_t>(value); };
  put(REG_R8, registers.r8), put(REG_R9, registers.r9), put(REG_R10, registers.r10), put(REG_R11, registers.r11);
  put(REG_R12, registers.r12), put(REG_R13, registers.r13), put(REG_R14, registers.r14), put(REG_R15, registers.r15);
  put(REG_RDI, registers.rdi), put(REG_RSI, registers.rsi), put(REG_RBP, registers.rbp), put(REG_RBX, registers.rbx);
  put(REG_RDX, registers.rdx), put(REG_RCX, registers.rcx), put(REG_RSP, registers.rsp), put(REG_EFL, registers.eflags);
  if (waits(registers)) {
    // The call is restarted at its two-byte instruction.
    constexpr unsigned kSyscall = 2;
    put(REG_RAX, registers.orig_rax), put(REG_RIP, registers.rip - kSyscall);
  } else {
    put(REG_RAX, registers.rax), put(REG_RIP, registers.rip);
  }
  put(REG_CSGSFS, (registers.cs & 0xffff) | (registers.gs & 0xffff) << 16 | (registers.fs & 0xffff) << 32 |
                      (registers.ss & 0xffff) << 48);
  context.uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(state);  // NOLINT(performance-no-int-to-ptr)
  std::memcpy(&context.uc_sigmask, &mask, sizeof mask);
  return context;
}

/// Marks the image like the kernel in a signal frame.
void mark_state(std::array<std::byte, kMostState>& state, std::size_t size) {
  std::uint64_t features = 0;
  std::memcpy(&features, state.data() + kSoftwareBytes, sizeof features);
  const auto whole = static_cast<std::uint32_t>(size + sizeof kMagic2);
  const auto bytes = static_cast<std::uint32_t>(size);
  std::byte* software = state.data() + kSoftwareBytes;
  std::memcpy(software, &kMagic1, sizeof kMagic1);
  std::memcpy(software + 4, &whole, sizeof whole);
  std::memcpy(software + 8, &features, sizeof features);
  std::memcpy(software + 16, &bytes, sizeof bytes);
  std::memcpy(state.data() + size, &kMagic2, sizeof kMagic2);
}

bool has_room(std::uint64_t stack, const std::vector<scan::Region>& regions) {
  const auto on = std::ranges::find_if(
      regions, [&](const scan::Region& each) { return each.begin <= stack && stack < each.end && each.writable; });
  // The first thread's stack grows on demand.
  return on != regions.end() && (on->path == "[stack]" || stack - on->begin >= kStackRoom);
}

}  // namespace

void get_ready_to_borrow() {
  const sigset_t stops = stop_signal();
  sigprocmask(SIG_BLOCK, &stops, nullptr);
  const sched_param lowest{sched_get_priority_min(SCHED_RR)};
  if (sched_setscheduler(0, SCHED_RR, &lowest) != 0) setpriority(PRIO_PROCESS, 0, -20);
}

Borrowed call_by(pid_t pid, pid_t thread, const EntryCode& code, const ThreadCall& call,
                 const std::vector<scan::Region>& regions) {
  Traced traced(pid, thread);
  if (!traced.seize()) return Borrowed::kRefused;
  if (!traced.stop()) return Borrowed::kNotNow;
  user_regs_struct registers{};
  std::uint64_t mask = 0;
  alignas(64) static std::array<std::byte, kMostState> state;
  const std::size_t size = traced.get_state(state);
  if (size == 0 || !traced.get(registers) || !traced.get_mask(mask)) return Borrowed::kNotNow;
  if (!waits(registers) && !is_in(code.python_loop, registers)) return Borrowed::kNotNow;
  if (!has_room(registers.rsp, regions)) return Borrowed::kNotNow;
  // From the top: the red zone, vector registers, the text, the frame, and below it the return address of the function.
  const std::uint64_t vectors = (registers.rsp - kRedZone - size - sizeof kMagic2) & ~std::uint64_t{63};
  const std::uint64_t text = vectors - (call.text.size() + 1);
  const std::uint64_t frame = (text - sizeof(ucontext_t)) & ~std::uint64_t{15};
  const std::uint64_t top = frame - sizeof code.restore;
  const ucontext_t context = context_of(registers, mask, vectors);
  mark_state(state, size);
  const std::array<Written, 4> parts{{{vectors, state.data(), size + sizeof kMagic2},
                                      {text, call.text.c_str(), call.text.size() + 1},
                                      {frame, &context, sizeof context},
                                      {top, &code.restore, sizeof code.restore}}};
  if (!traced.write(parts)) return Borrowed::kNotNow;
  user_regs_struct entry = registers;
  constexpr unsigned long kDirection = 0x400;
  entry.rip = call.function;
  entry.rdi = call.text.empty() ? call.first : text;
  entry.rsi = call.second;
  entry.rsp = top;
  entry.rax = 0;
  entry.orig_rax = ~0UL;  // no system call to restart
  entry.eflags &= ~kDirection;
  if (!traced.set(entry)) return Borrowed::kNotNow;
  // After the registers: if this process ends here, the frame restores the mask that was written to it.
  traced.set_mask(~std::uint64_t{0});
  return Borrowed::kCalls;
}

}  // namespace dcmt::recorder
