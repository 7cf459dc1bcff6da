#include "collector/agent/asked_readings.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "collector/agent/clock.h"
#include "collector/agent/environment.h"
#include "collector/agent/hot_path.h"
#include "collector/agent/pending_call.h"
#include "collector/agent/provider.h"
#include "collector/agent/spool_writer.h"

namespace dcmt::agent {
namespace {

using spool::AskedReading;

constexpr std::uint64_t kSecond = 1'000'000'000;
/// At its end a program waits for an answer for this fraction of the wait, or for a second if that is longer and at
/// most half of the wait: a reading of everything may be under way, and takes most of a second. Then the recorder is
/// gone.
constexpr std::uint64_t kPartForAnswer = 8, kLongReading = kSecond;

/// A hold waits this long for an answer, and for the reading, at most. Nanoseconds.
constexpr std::uint64_t kHoldAnswer = kSecond / 10, kLongestHold = kSecond / 2;
/// All holds of a job: this time, and a share of the time since its first record.
constexpr std::uint64_t kFreeHolds = kSecond * 6 / 10, kShareOfTime = 500;
/// One hold takes at most this part of the time that is left, so some is left for later parts of the run: frames of a
/// compiler lead to a hundred times the objects of a training loop. The reading goes on without the hold.
constexpr std::uint64_t kPartOfLeft = 4;
/// Records between two holds: their number so far over the divisor, and no fewer than the least.
constexpr std::uint64_t kLeastWork = 64, kWorkDivisor = 6;
/// A hold that has cost more than this part of what is left makes the next one wait for as many records as there were:
/// a program with large variables would have none left after its first step.
constexpr std::uint64_t kDearPart = 10;

/// A refused request waits this long for its reading, at most. All of them together: this time, and a share of the time
/// since the first record, since a program may search for the largest batch by failing.
constexpr std::uint64_t kLongestAtOutOfMemory = 3 * kSecond, kFreeAtOutOfMemory = 6 * kSecond, kShareAtOutOfMemory = 50;

/// A reading at the program's end may take this share of the time since the first record beyond the limit that the user
/// has set, and no longer: a program of 1.2 M objects takes 4 s.
constexpr std::uint64_t kShareAtExit = 50, kLongestAtExit = 8 * kSecond;

constinit AddPendingCall g_add_pending_call = nullptr;
constinit std::atomic<bool> g_holds{false};
constinit std::atomic<std::uint64_t> g_backwards{0};
constinit std::uint64_t g_first_seq = 0;
constinit std::uint64_t g_began_ns = 0;
constinit std::atomic<std::uint64_t> g_held_at_out_of_memory{0};  ///< nanoseconds

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

/// The process goes on: the recorder then sees that it has not waited until the reading was over.
void stop_waiting(std::atomic<std::uint32_t>& word) noexcept {
  for (const AskedReading open : {AskedReading::kHeld, AskedReading::kUnderWay}) {
    auto unanswered = static_cast<std::uint32_t>(open);
    if (word.compare_exchange_strong(unanswered, static_cast<std::uint32_t>(AskedReading::kNone))) return;
  }
}

/// Asks unless an earlier request is still open. Publishes what this thread has done first. A child that was forked in
/// the middle of a hook does not ask: the word is its parent's.
bool ask(std::atomic<std::uint32_t>& word, AskedReading question) noexcept {
  if (!gate_open()) return false;
  if (const TorchProvider* torch = torch_provider(); torch != nullptr) torch->before_exact_point();
  std::uint32_t before = word.load(std::memory_order_acquire);
  const auto last = static_cast<AskedReading>(before);
  if (last != AskedReading::kNone && last != AskedReading::kDone && last != AskedReading::kNotRead) return false;
  return word.compare_exchange_strong(before, static_cast<std::uint32_t>(question));
}

/// True if a reading that began after this call is complete. Call it inside the guard.
bool request_reading(std::uint64_t timeout_ns) noexcept {
  const int error = errno;
  std::atomic<std::uint32_t>& word = spool_header()->asked_reading;
  const std::uint64_t until = nanoseconds(CLOCK_MONOTONIC) + timeout_ns;
  const bool answered = ask(word, AskedReading::kRequested) && changes(word, AskedReading::kRequested, until) &&
                        changes(word, AskedReading::kUnderWay, until);
  errno = error;
  return answered && static_cast<AskedReading>(word.load(std::memory_order_acquire)) == AskedReading::kDone;
}

/// The time for further holds, in nanoseconds. Ranks wait for each other, so their holds add up.
std::uint64_t left_for_holds(const spool::Header& header, std::uint64_t now) noexcept {
  const std::uint64_t all = kFreeHolds + (now - g_began_ns) / kShareOfTime;
  const std::uint64_t own = all / static_cast<std::uint64_t>(std::max(1, header.world_size));
  return own - std::min(own, header.held_ns.load(std::memory_order_relaxed));
}

void hold_after_as_much_again() noexcept {
  const std::uint64_t now = g_next_seq->load(std::memory_order_relaxed);
  const std::uint64_t later = now + (now - g_first_seq);
  std::uint64_t due = g_hot.next_hold.load(std::memory_order_relaxed);
  while (due < later && !g_hot.next_hold.compare_exchange_weak(due, later)) {
  }
}

/// Call inside the guard.
void hold_here() noexcept {
  spool::Header& header = *spool_header();
  const std::uint64_t from = nanoseconds(CLOCK_MONOTONIC);
  const std::uint64_t left = left_for_holds(header, from);
  if (left == 0 || !ask(header.asked_reading, AskedReading::kHeld)) return;
  const int error = errno;
  const std::uint64_t longest = std::min(kLongestHold, left / kPartOfLeft);
  if (!changes(header.asked_reading, AskedReading::kHeld, from + std::min(kHoldAnswer, longest)) ||
      !changes(header.asked_reading, AskedReading::kUnderWay, from + longest)) {
    stop_waiting(header.asked_reading);
  }
  const std::uint64_t held = nanoseconds(CLOCK_MONOTONIC) - from;
  header.holds.fetch_add(1, std::memory_order_relaxed);
  header.held_ns.fetch_add(held, std::memory_order_relaxed);
  if (held > header.longest_hold_ns.load(std::memory_order_relaxed))
    header.longest_hold_ns.store(held, std::memory_order_relaxed);
  if (held > left / kDearPart) hold_after_as_much_again();
  errno = error;
}

/// Python's main thread calls it between two instructions, with the GIL.
int on_main_thread(void*) {
  if (recording() && g_holds.load(std::memory_order_relaxed)) {
    const Inside inside;
    hold_here();
  }
  return 0;
}

}  // namespace

void set_holds(bool on) noexcept {
  g_add_pending_call = find_add_pending_call();
  g_first_seq = g_next_seq->load(std::memory_order_relaxed);
  g_began_ns = nanoseconds(CLOCK_MONOTONIC);
  g_backwards.store(0, std::memory_order_relaxed);
  g_held_at_out_of_memory.store(0, std::memory_order_relaxed);
  g_holds.store(on, std::memory_order_relaxed);
  g_hot.next_hold.store(
      on && g_add_pending_call != nullptr ? g_first_seq + kLeastWork : std::numeric_limits<std::uint64_t>::max(),
      std::memory_order_relaxed);
}

void hold_soon() noexcept {
  std::uint64_t due = g_hot.next_hold.load(std::memory_order_relaxed);
  const std::uint64_t now = g_next_seq->load(std::memory_order_relaxed);
  const bool is_child = due == 0;  // forked in the middle of a hook: the gate's page is zeros there
  if (is_child || now < due) return;
  if (!g_holds.load(std::memory_order_relaxed)) {
    g_hot.next_hold.store(std::numeric_limits<std::uint64_t>::max(), std::memory_order_relaxed);
    return;
  }
  const std::uint64_t next = now + std::max(kLeastWork, (now - g_first_seq) / kWorkDivisor);
  // A full queue leaves out this hold.
  if (g_hot.next_hold.compare_exchange_strong(due, next)) (void)g_add_pending_call(on_main_thread, nullptr);
}

void hold_at_backward() noexcept {
  if (!g_holds.load(std::memory_order_relaxed)) return;
  const std::uint64_t passes = g_backwards.fetch_add(1, std::memory_order_relaxed) + 1;
  if ((passes & (passes - 1)) == 0) hold_here();
}

void set_exit_wait(std::int32_t seconds) noexcept {
  if (seconds >= 0) g_exit_wait = static_cast<std::uint64_t>(seconds) * kSecond;
}

void await_last_reading() noexcept {
  if (const NativeProvider* native = native_provider(); native != nullptr) native->program_ends();
  if (!recording() || g_exit_wait == 0) return;
  const int error = errno;
  const Inside inside;
  std::atomic<std::uint32_t>& word = spool_header()->asked_reading;
  if (ask(word, AskedReading::kEnded)) {
    const std::uint64_t now = nanoseconds(CLOCK_MONOTONIC);
    // A recorder that answers later still has to see that the program has ended.
    const std::uint64_t for_answer = std::max(g_exit_wait / kPartForAnswer, std::min(kLongReading, g_exit_wait / 2));
    const std::uint64_t longer = std::min(kLongestAtExit, (now - g_began_ns) / kShareAtExit);
    if (changes(word, AskedReading::kEnded, now + for_answer) &&
        !changes(word, AskedReading::kUnderWay, now + g_exit_wait + longer)) {
      stop_waiting(word);
    }
  }
  errno = error;
}

void hold_at_out_of_memory() noexcept {
  const std::uint64_t from = nanoseconds(CLOCK_MONOTONIC);
  const std::uint64_t all = kFreeAtOutOfMemory + (from - g_began_ns) / kShareAtOutOfMemory;
  const std::uint64_t left = all - std::min(all, g_held_at_out_of_memory.load(std::memory_order_relaxed));
  if (left == 0) return;
  (void)request_reading(std::min(left, kLongestAtOutOfMemory));
  g_held_at_out_of_memory.fetch_add(nanoseconds(CLOCK_MONOTONIC) - from, std::memory_order_relaxed);
}

bool await_reading(std::uint64_t timeout_ns) noexcept {
  if (!recording()) return false;
  const Inside inside;
  return request_reading(timeout_ns);
}

}  // namespace dcmt::agent
