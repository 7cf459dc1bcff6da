#include "collector/torch/state/fences.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "trace/arch/arch.h"

namespace dcmt::torch_provider {
namespace {

enum class State : std::uint32_t {
  kFree,
  kPlacing,   ///< one thread closes the pages
  kStanding,  ///< the pages are closed
  kTouched,   ///< one thread has accessed them, and opens them
  kOpening,   ///< the block ends: one thread opens the pages
  kOpen,      ///< as kFree, but another thread may be on its way from a fault here
};

struct Slot {
  std::atomic<State> state;
  std::atomic<std::uint64_t> block, begin, end;
  std::atomic<KeyIndex> key;
  std::atomic<const void*> storage;
};

// A block's slot is among a few that its address selects. A fault, which is rare, inspects all slots.
constexpr unsigned kSlotBits = 14;
constexpr std::uint32_t kSlots = 1u << kSlotBits;
constexpr std::uint32_t kTries = 16;
// Not in the memory of arena(), which a forked child does not inherit.
constinit Slot g_slots[kSlots];
constinit std::atomic<std::uint32_t> g_fences{0};
constinit std::uint64_t g_page = 4096;
constinit OnTouch g_on_touch = nullptr;

constinit struct sigaction g_first = {};   ///< the handler before the first one of ours
constinit struct sigaction g_before = {};  ///< the handler before ours
constinit std::atomic<bool> g_installing{false};
constinit std::atomic<bool> g_passed_on{false};

Slot& slot_of(std::uint64_t block, std::uint32_t attempt) noexcept {
  const std::uint64_t hash = (block / g_page) * 0x9E3779B97F4A7C15u >> (64 - kSlotBits);
  return g_slots[(hash + attempt) % kSlots];
}

bool protect(Pages pages, int protection) noexcept {
  return mprotect(reinterpret_cast<void*>(pages.begin), pages.end - pages.begin, protection) == 0;
}
bool close(Pages pages) noexcept { return protect(pages, PROT_NONE); }
bool open(Pages pages) noexcept { return protect(pages, PROT_READ | PROT_WRITE); }

Pages pages_of(const Slot& slot) noexcept {
  return {slot.begin.load(std::memory_order_relaxed), slot.end.load(std::memory_order_relaxed)};
}

bool change(Slot& slot, State from, State to) noexcept { return slot.state.compare_exchange_strong(from, to); }

Fence fence_in(const Slot& slot) noexcept {
  const Pages pages = pages_of(slot);
  return {slot.block.load(std::memory_order_relaxed), pages.begin, pages.end, slot.key.load(std::memory_order_relaxed),
          slot.storage.load(std::memory_order_relaxed)};
}

bool is_of(const Slot& slot, std::uint64_t block) noexcept {
  const State state = slot.state.load();
  return state != State::kFree && state != State::kOpen && slot.block.load(std::memory_order_relaxed) == block;
}

/// A fault in pages that were opened while the thread was on its way. Repeating the access is right then, but not for
/// ever: the memory may belong to somebody else by now.
bool may_try_again(std::uint64_t address) noexcept {
  constexpr std::uint32_t kPatience = 100;
  static constinit std::atomic<std::uint64_t> last{0};
  static constinit std::atomic<std::uint32_t> times{0};
  if (last.exchange(address) != address) times.store(0);
  return times.fetch_add(1) < kPatience;
}

/// True if the access can be repeated.
bool meets_fence(std::uint64_t address, bool writes) noexcept {
  bool was_open = false;
  for (Slot& slot : g_slots) {
    const State state = slot.state.load(std::memory_order_acquire);
    const Fence fence = fence_in(slot);
    if (state == State::kFree || address < fence.begin || address >= fence.end) continue;
    if (state == State::kOpen) {
      was_open = true;
      continue;
    }
    if (state != State::kStanding || !change(slot, State::kStanding, State::kTouched)) return true;
    if (!open({fence.begin, fence.end})) return false;
    g_on_touch(fence, address, writes);
    return true;
  }
  return was_open && may_try_again(address);
}

/// A handler that replaced ours may call ours in turn. Then the one before both is restored.
void pass_on(int signal, siginfo_t* info, void* context) noexcept {
  const bool ours_between = g_before.sa_sigaction != g_first.sa_sigaction;
  const struct sigaction next = ours_between && g_passed_on.exchange(true) ? g_first : g_before;
  if (next.sa_handler == SIG_DFL || next.sa_handler == SIG_IGN ||
      (ours_between && next.sa_handler == g_first.sa_handler)) {
    sigaction(signal, &next, nullptr);
    if (info->si_code <= 0) raise(signal);  // no fault, which would be repeated
  } else if ((next.sa_flags & SA_SIGINFO) != 0) {
    next.sa_sigaction(signal, info, context);
  } else {
    next.sa_handler(signal);
  }
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const bool ours =
      info->si_code == SEGV_ACCERR && meets_fence(reinterpret_cast<std::uint64_t>(info->si_addr),
                                                  arch::fault_writes(*static_cast<const ucontext_t*>(context)));
  errno = error;
  if (!ours) pass_on(signal, info, context);
}

/// The program may install a handler of its own at any time, such as Python's faulthandler.
bool handler_is_ours() noexcept {
  struct sigaction now = {};
  if (sigaction(SIGSEGV, nullptr, &now) != 0) return false;
  if (now.sa_sigaction == on_fault) return true;
  if (g_installing.exchange(true)) return true;  // another thread does it
  struct sigaction ours = {};
  ours.sa_sigaction = on_fault;
  // Not on another stack: those of signals are too small for a record.
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&ours.sa_mask);
  g_before = now;
  g_passed_on.store(false);
  const bool installed = sigaction(SIGSEGV, &ours, nullptr) == 0;
  g_installing.store(false);
  return installed;
}

void count_opened(Slot& slot) noexcept {
  slot.state.store(State::kOpen);
  g_fences.fetch_sub(1);
}

/// `block` ends: its fence, if it is in this slot, opens.
bool open_if_of(Slot& slot, std::uint64_t block) noexcept {
  constexpr int kPatience = 100'000;
  // A thread that closes it now will be done soon; in a forked child it does not exist.
  for (int i = 0; i < kPatience && is_of(slot, block); ++i) {
    if (change(slot, State::kStanding, State::kOpening) || change(slot, State::kTouched, State::kOpening)) {
      open(pages_of(slot));
      count_opened(slot);
      return true;
    }
    sched_yield();
  }
  return false;
}

/// A slot for the block, whose pages are not closed yet. A thread that ends the block sees it, and waits. nullptr: the
/// table is full.
Slot* acquire_slot(const Fence& fence) noexcept {
  for (std::uint32_t i = 0; i < kTries; ++i) {
    Slot& slot = slot_of(fence.block, i);
    if (!change(slot, State::kFree, State::kPlacing) && !change(slot, State::kOpen, State::kPlacing)) continue;
    slot.begin.store(0);
    slot.end.store(0);
    slot.key.store(fence.key, std::memory_order_relaxed);
    slot.storage.store(fence.storage, std::memory_order_relaxed);
    g_fences.fetch_add(1);
    slot.block.store(fence.block);
    return &slot;
  }
  return nullptr;
}

}  // namespace

Pages whole_pages(std::uint64_t begin, std::uint64_t end) noexcept {
  const std::uint64_t first = (begin + g_page - 1) / g_page * g_page;
  const std::uint64_t last = end / g_page * g_page;
  return {first, last > first ? last : first};
}

bool make_fences(OnTouch on_touch) noexcept {
  g_page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  g_on_touch = on_touch;
  struct sigaction now = {};
  if (sigaction(SIGSEGV, nullptr, &now) != 0) return false;
  if (now.sa_sigaction != on_fault) g_first = now;
  return handler_is_ours();
}

void leave_fences() noexcept {
  for (Slot& slot : g_slots) {
    if (slot.state.load() != State::kFree) open_if_of(slot, slot.block.load(std::memory_order_relaxed));
  }
  struct sigaction now = {};
  if (sigaction(SIGSEGV, nullptr, &now) == 0 && now.sa_sigaction == on_fault) sigaction(SIGSEGV, &g_before, nullptr);
}

Fenced place_fence(const Fence& fence, EndOf end_of) noexcept {
  for (std::uint32_t i = 0; i < kTries; ++i) {
    const Slot& slot = slot_of(fence.block, i);
    if (is_of(slot, fence.block)) return {Fencing::kThere, pages_of(slot)};
  }
  Slot* slot = acquire_slot(fence);
  if (slot == nullptr) return {Fencing::kFull, {}};
  const std::uint64_t end = end_of(fence);
  const Pages pages = whole_pages(fence.block, end);
  slot->begin.store(pages.begin);
  slot->end.store(pages.end);
  if (pages.begin < pages.end && handler_is_ours() && close(pages)) {
    slot->state.store(State::kStanding);
    return {Fencing::kDone, pages};
  }
  count_opened(*slot);
  if (end == 0) return {Fencing::kGone, {}};
  return {pages.begin < pages.end ? Fencing::kRefused : Fencing::kNoPage, {}};
}

Fencing overwrite(const Fence& fence, EndOf end_of, std::uint64_t bytes, std::uint8_t with) noexcept {
  Slot* slot = acquire_slot(fence);
  if (slot == nullptr) return Fencing::kFull;
  const bool alive = end_of(fence) >= fence.block + bytes;
  if (alive) memset(reinterpret_cast<void*>(fence.block), with, bytes);
  count_opened(*slot);
  return alive ? Fencing::kDone : Fencing::kGone;
}

void touch_fences(std::uint64_t begin, std::uint64_t bytes, bool writes) noexcept {
  for (Slot& slot : g_slots) {
    if (slot.state.load(std::memory_order_acquire) != State::kStanding) continue;
    const Fence fence = fence_in(slot);
    if (begin >= fence.end || begin + bytes <= fence.begin) continue;
    if (!change(slot, State::kStanding, State::kTouched)) continue;
    if (open({fence.begin, fence.end})) g_on_touch(fence, std::max(begin, fence.begin), writes);
  }
}

void open_fence(std::uint64_t block) noexcept {
  if (g_fences.load() == 0) return;
  for (std::uint32_t i = 0; i < kTries; ++i) {
    if (open_if_of(slot_of(block, i), block)) return;
  }
}

std::uint32_t fences() noexcept { return g_fences.load(); }

}  // namespace dcmt::torch_provider
