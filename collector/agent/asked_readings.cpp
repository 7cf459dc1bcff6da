#include "collector/agent/asked_readings.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/agent/clock.h"
#include "collector/agent/environment.h"
#include "collector/agent/hot_path.h"
#include "collector/agent/provider.h"
#include "collector/agent/spool_writer.h"

namespace dcmt::agent {
namespace {

using spool::AskedReading;

constexpr std::uint64_t kSecond = 1'000'000'000;
/// A recorder that has not answered within this fraction of the wait is busy or gone.
constexpr std::uint64_t kPartForAnswer = 8;

/// When the wait ends, the program ends even if the reading is not complete. Nanoseconds.
constinit std::uint64_t g_exit_wait = kDefaultExitWait * kSecond;

/// Waits for a change. False if the word still has the value at `until` (nanoseconds of the monotonic clock), or a
/// signal came.
bool changes(std::atomic<std::uint32_t>& word, AskedReading value, std::uint64_t until) noexcept {
  const auto expected = static_cast<std::uint32_t>(value);
  while (word.load(std::memory_order_acquire) == expected) {
    const std::uint64_t now = nanoseconds(CLOCK_MONOTONIC);
    if (now >= until) return false;
    const std::uint64_t left = until - now;
    const timespec wait{static_cast<time_t>(left / kSecond), static_cast<long>(left % kSecond)};
    if (syscall(SYS_futex, &word, FUTEX_WAIT, expected, &wait, nullptr, 0) != 0 && errno == EINTR) return false;
  }
  return true;
}

/// Asks unless an earlier request is still open. Publishes what this thread has done first.
bool ask(std::atomic<std::uint32_t>& word, AskedReading question) noexcept {
  if (const TorchProvider* torch = torch_provider(); torch != nullptr) torch->before_exact_point();
  std::uint32_t before = word.load(std::memory_order_acquire);
  const auto last = static_cast<AskedReading>(before);
  if (last != AskedReading::kNone && last != AskedReading::kDone && last != AskedReading::kNotRead) return false;
  return word.compare_exchange_strong(before, static_cast<std::uint32_t>(question));
}

}  // namespace

void set_exit_wait(std::int32_t seconds) noexcept {
  if (seconds >= 0) g_exit_wait = static_cast<std::uint64_t>(seconds) * kSecond;
}

void await_last_reading() noexcept {
  if (!recording() || g_exit_wait == 0) return;
  const int error = errno;
  const Inside inside;
  std::atomic<std::uint32_t>& word = spool_header()->asked_reading;
  if (ask(word, AskedReading::kEnded)) {
    const std::uint64_t now = nanoseconds(CLOCK_MONOTONIC);
    if (changes(word, AskedReading::kEnded, now + g_exit_wait / kPartForAnswer)) {
      changes(word, AskedReading::kUnderWay, now + g_exit_wait);
    }
  }
  errno = error;
}

bool await_reading(std::uint64_t timeout_ns) noexcept {
  if (!recording()) return false;
  const int error = errno;
  const Inside inside;
  std::atomic<std::uint32_t>& word = spool_header()->asked_reading;
  const std::uint64_t until = nanoseconds(CLOCK_MONOTONIC) + timeout_ns;
  const bool answered = ask(word, AskedReading::kRequested) && changes(word, AskedReading::kRequested, until) &&
                        changes(word, AskedReading::kUnderWay, until);
  errno = error;
  return answered && static_cast<AskedReading>(word.load(std::memory_order_acquire)) == AskedReading::kDone;
}

}  // namespace dcmt::agent
