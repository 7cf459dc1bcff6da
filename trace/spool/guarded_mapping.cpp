#include "trace/spool/guarded_mapping.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "trace/base/page_size.h"

namespace dcmt::spool {
namespace {

struct Range {
  std::atomic<bool> in_use{false};
  std::atomic<std::uintptr_t> begin{0};  ///< 0: none yet
  std::atomic<std::size_t> bytes{0};
  std::atomic<std::size_t> intact{0};
};

constinit std::array<Range, GuardedMapping::kMost> g_ranges{};
constinit struct sigaction g_before {};

/// Maps zeros from the failing page to the end of the mapping, and lets the read continue. Uses only calls that are
/// safe in a signal handler.
void on_bus_error(int signal, siginfo_t* info, void*) {
  const int error = errno;
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
  for (Range& range : g_ranges) {
    const std::uintptr_t begin = range.begin.load(std::memory_order_acquire);
    const std::size_t bytes = range.bytes.load(std::memory_order_relaxed);
    if (info->si_code <= 0 || begin == 0 || at < begin || at >= begin + bytes) continue;
    const std::uintptr_t page = at & ~(page_size() - 1);
    void* zeros = mmap(reinterpret_cast<void*>(page), begin + bytes - page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED) break;
    if (page - begin < range.intact.load(std::memory_order_relaxed)) range.intact.store(page - begin);
    errno = error;
    return;
  }
  // The fault is not ours: restore the earlier handler and let the fault happen again. A signal that another process
  // sent does not repeat by itself, so raise it.
  sigaction(signal, &g_before, nullptr);
  if (info->si_code <= 0) raise(signal);
  errno = error;
}

void install_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    static_cast<void>(page_size());  // the handler must not be the first to ask
    struct sigaction ours {};
    ours.sa_sigaction = on_bus_error;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGBUS, &ours, &g_before);
  });
}

}  // namespace

GuardedMapping::GuardedMapping(GuardedMapping&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), slot_(other.slot_) {}

GuardedMapping& GuardedMapping::operator=(GuardedMapping&& other) noexcept {
  if (this == &other) return *this;
  unmap();
  base_ = std::exchange(other.base_, nullptr);
  slot_ = other.slot_;
  return *this;
}

GuardedMapping::~GuardedMapping() { unmap(); }

GuardedMapping GuardedMapping::map(int fd, std::size_t bytes, Sharing sharing) {
  GuardedMapping mapping;
  std::size_t slot = 0;
  while (slot < kMost && g_ranges[slot].in_use.exchange(true)) ++slot;
  if (slot == kMost) {
    errno = EMFILE;
    return mapping;
  }
  Range& range = g_ranges[slot];
  void* base =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, sharing == Sharing::kShared ? MAP_SHARED : MAP_PRIVATE, fd, 0);
  if (base == MAP_FAILED) {
    range.in_use.store(false);
    return mapping;
  }
  install_handler();
  range.bytes.store(bytes, std::memory_order_relaxed);
  range.intact.store(bytes, std::memory_order_relaxed);
  range.begin.store(reinterpret_cast<std::uintptr_t>(base), std::memory_order_release);
  mapping.base_ = static_cast<char*>(base);
  mapping.slot_ = slot;
  return mapping;
}

std::size_t GuardedMapping::intact_bytes() const {
  return base_ != nullptr ? g_ranges[slot_].intact.load(std::memory_order_relaxed) : 0;
}

void GuardedMapping::unmap() {
  if (base_ == nullptr) return;
  Range& range = g_ranges[slot_];
  range.begin.store(0, std::memory_order_release);
  munmap(base_, range.bytes.load(std::memory_order_relaxed));
  range.in_use.store(false);
  base_ = nullptr;
}

}  // namespace dcmt::spool
