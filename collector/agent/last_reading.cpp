// The wait at a program's end: the recorder reads the memory of the process before it is gone.
#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/agent/clock.h"
#include "collector/agent/hot_path.h"
#include "collector/agent/provider.h"
#include "collector/agent/spool_writer.h"

namespace dcmt::agent {
namespace {

using spool::LastReading;

/// A recorder that has not answered by then is busy or gone.
constexpr std::uint64_t kMostForAnswer = 250'000'000;
/// The program ends then, whether the reading is over or not.
constexpr std::uint64_t kMostForReading = 2'000'000'000;

/// False if the word still has the value at `until` (nanoseconds of the monotonic clock), or a signal came.
bool changes(std::atomic<std::uint32_t>& word, LastReading value, std::uint64_t until) noexcept {
  const auto expected = static_cast<std::uint32_t>(value);
  while (word.load(std::memory_order_acquire) == expected) {
    const std::uint64_t now = nanoseconds(CLOCK_MONOTONIC);
    if (now >= until) return false;
    const std::uint64_t left = until - now;
    const timespec wait{static_cast<time_t>(left / 1'000'000'000), static_cast<long>(left % 1'000'000'000)};
    if (syscall(SYS_futex, &word, FUTEX_WAIT, expected, &wait, nullptr, 0) != 0 && errno == EINTR) return false;
  }
  return true;
}

}  // namespace

void await_last_reading() noexcept {
  if (!recording()) return;
  const int error = errno;
  const Inside inside;
  std::atomic<std::uint32_t>& word = spool_header()->last_reading;
  auto none = static_cast<std::uint32_t>(LastReading::kNone);
  if (const TorchProvider* torch = torch_provider(); torch != nullptr) torch->before_exact_moment();
  if (word.compare_exchange_strong(none, static_cast<std::uint32_t>(LastReading::kAwaited))) {
    const std::uint64_t now = nanoseconds(CLOCK_MONOTONIC);
    if (changes(word, LastReading::kAwaited, now + kMostForAnswer)) {
      changes(word, LastReading::kUnderWay, now + kMostForReading);
    }
  }
  errno = error;
}

}  // namespace dcmt::agent
