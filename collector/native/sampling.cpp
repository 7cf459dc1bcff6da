#include "collector/native/sampling.h"

#include <errno.h>
#include <math.h>

#include <algorithm>
#include <atomic>

#include "collector/agent/provider.h"

namespace dcmt::native_provider {
namespace {

constexpr std::uint64_t kShortestInterval = 16 * 1024, kLongestInterval = 512 * 1024;
/// After this many samples the interval is doubled.
constexpr std::uint64_t kSamplesOfInterval = 8192;

constinit std::atomic<std::uint64_t> g_samples{0};
constinit std::atomic<std::uint64_t> g_missed{0};
constinit std::atomic<bool> g_is_stopped{false};

/// Not for what the agent itself allocates, nor in a forked child.
bool records() noexcept { return agent::recording() && !g_is_stopped.load(std::memory_order_relaxed); }

std::uint64_t interval_now() noexcept {
  const std::uint64_t doubled = g_samples.load(std::memory_order_relaxed) / kSamplesOfInterval;
  return std::min(kLongestInterval, kShortestInterval << std::min<std::uint64_t>(doubled, 10));
}

/// xorshift64*
std::uint64_t next_random(std::uint64_t& state) noexcept {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return state * 0x2545f4914f6cdd1du;
}

/// The distance to the next chosen byte: exponentially distributed.
void draw(ThreadSampling& thread) noexcept {
  thread.interval = interval_now();
  constexpr double kUnit = 1.0 / (std::uint64_t{1} << 53);
  const double uniform = (static_cast<double>(next_random(thread.random) >> 11) + 0.5) * kUnit;
  thread.left = static_cast<std::int64_t>(-log(uniform) * static_cast<double>(thread.interval));
}

void seed(ThreadSampling& thread) noexcept {
  const std::uint64_t words[] = {agent::cycles(), reinterpret_cast<std::uintptr_t>(&thread)};
  thread.random = agent::hash_bytes(words, sizeof words, 0);
}

/// False if there is no room for the record.
__attribute__((noinline)) bool write_sample(wire::NativeCall call, const void* address, std::size_t bytes,
                                            std::uint64_t interval) noexcept {
  std::uint64_t module = 0;
  const std::uint64_t stack = agent::stack_of_thread(&module);
  const std::uint64_t native = agent::native_stack(agent::code_point_here());
  auto* record = static_cast<wire::NativeSampleRecord*>(agent::begin_record(
      wire::RecordType::kNativeSample, sizeof(wire::NativeSampleRecord), static_cast<std::uint32_t>(call)));
  if (record == nullptr) return false;
  record->address = reinterpret_cast<std::uintptr_t>(address);
  record->bytes = bytes;
  record->interval = interval;
  record->missed = g_missed.load(std::memory_order_relaxed);
  record->stack = stack;
  record->native = native;
  agent::commit_record(record);
  return true;
}

}  // namespace

constinit thread_local ThreadSampling t_sampling __attribute__((tls_model("initial-exec"))) = {};
constinit SampledAddresses g_sampled;

bool prepare_sampling() noexcept {
  static constinit void* memory = nullptr;
  if (memory == nullptr) memory = agent::arena(SampledAddresses::kBytes);
  if (memory == nullptr || !agent::prepare_native_stacks()) return false;
  g_sampled.use(memory);
  return true;
}

void restart_sampling() noexcept {
  g_samples.store(0, std::memory_order_relaxed);
  g_missed.store(0, std::memory_order_relaxed);
  g_is_stopped.store(false, std::memory_order_relaxed);
}

void stop_sampling() noexcept { g_is_stopped.store(true, std::memory_order_relaxed); }

void sample(wire::NativeCall call, const void* address, std::size_t bytes) noexcept {
  const int error = errno;
  ThreadSampling& thread = t_sampling;
  if (thread.interval == 0) {  // its first allocation: what is left was not drawn
    seed(thread);
    draw(thread);
    thread.left -= static_cast<std::int64_t>(bytes);
  }
  if (thread.left < 0) {
    const std::uint64_t interval = thread.interval;
    draw(thread);
    if (records()) {
      const agent::Inside inside;
      g_samples.fetch_add(1, std::memory_order_relaxed);
      // Before the record: no other thread can free it before this function returns.
      if (!g_sampled.add(address)) {
        g_missed.fetch_add(1, std::memory_order_relaxed);
      } else if (!write_sample(call, address, bytes, interval)) {
        g_sampled.remove(address);
        g_missed.fetch_add(1, std::memory_order_relaxed);
      }
    }
  }
  errno = error;
}

namespace {

void write_end(const void* address, std::uint32_t flags) noexcept {
  const int error = errno;
  const agent::Inside inside;
  auto* record = static_cast<wire::NativeEndRecord*>(
      agent::begin_record(wire::RecordType::kNativeEnd, sizeof(wire::NativeEndRecord), flags));
  if (record != nullptr) {
    record->address = reinterpret_cast<std::uintptr_t>(address);
    agent::commit_record(record);
  }
  errno = error;
}

}  // namespace

bool end_sampled(const void* address) noexcept {
  // Inside the agent, a record may be half written. The address stays in the set, until it is handed out again.
  if (!records() || !g_sampled.remove(address)) return false;
  write_end(address, 0);
  return true;
}

void go_on(const void* address) noexcept {
  if (records() && g_sampled.add(address)) write_end(address, wire::kNativeGoesOn);
}

}  // namespace dcmt::native_provider
