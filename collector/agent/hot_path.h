// The steps of every hook, inline: a call into another library costs as much as one of these steps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collector/agent/clock.h"
#include "collector/agent/gate.h"
#include "collector/agent/thread_state.h"
#include "trace/wire/records.h"

namespace dcmt::agent {

// Defined with constinit. NOLINTNEXTLINE(bugprone-dynamic-static-initializers)
extern DCMT_AGENT_API std::atomic<std::uint64_t>* g_next_seq;  ///< in the spool's header

/// True while events are recorded. False in a forked child, after the agent left, and inside the agent itself.
inline bool recording() noexcept { return gate_open() && t_state.inside == 0; }

/// False with details `lifetimes` and `oom`.
inline bool full_detail() noexcept { return g_hot.detail >= Detail::kFull; }

/// Detail `oom`: torch's allocators alone are hooked.
inline bool only_blocks() noexcept { return g_hot.detail == Detail::kOutOfMemory; }

/// True if work on streams of GPUs, and what orders it, is recorded; in `full`.
inline bool follows_streams() noexcept { return g_hot.streams; }
/// True if the times of kernels, copies and fills on GPUs are recorded; in `full`.
inline bool follows_gpu_work() noexcept { return g_hot.gpu_work; }

/// True if small blocks have records of their own although their sum is recorded.
inline bool every_block() noexcept { return g_hot.every_block.load(std::memory_order_relaxed); }

inline bool every_operator() noexcept { return g_hot.detail == Detail::kOperators; }

/// True if a block of this size, or a storage in it, has records of its own because of its size. Not meaningful in
/// `full`.
inline bool follows_size(std::uint64_t bytes) noexcept {
  if (bytes < g_hot.smallest_followed.load(std::memory_order_relaxed)) return false;
  return bytes >= static_cast<std::uint64_t>(kFollowedBytes) || follows_small_size(bytes);
}

/// True if objects were loaded and consume_objects_changed() (provider.h) has not been called since.
inline bool objects_changed() noexcept {
  return t_state.has_loaded != 0 || g_hot.objects_changed.load(std::memory_order_relaxed) != 0;
}

/// True if the program has done enough work since its last held reading; hold_soon() (provider.h) then.
inline bool hold_is_due() noexcept {
  return g_next_seq->load(std::memory_order_relaxed) >= g_hot.next_hold.load(std::memory_order_relaxed);
}

/// A guard against re-entry. While one lives on a thread, recording() is false there, so our own calls of torch or
/// Python make no records. `entered` is false if the thread was inside already.
class Inside {
 public:
  Inside() noexcept : entered(t_state.inside++ == 0) {}
  ~Inside() { --t_state.inside; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  const bool entered;
};

/// While one lives on a thread, all of its records have the same time: the counter is read once for events that happen
/// together. In a virtual machine, reading the counter is the most expensive part of a record.
class SharedTime {
 public:
  /// @param tsc  of a record that this thread has just written; 0: now
  explicit SharedTime(std::uint64_t tsc = 0) noexcept : before_(t_state.shared_tsc) {
    t_state.shared_tsc = tsc != 0 ? tsc : before_ != 0 ? before_ : cycles();
  }
  ~SharedTime() { t_state.shared_tsc = before_; }
  [[nodiscard]] std::uint64_t tsc() const noexcept { return t_state.shared_tsc; }
  SharedTime(const SharedTime&) = delete;
  SharedTime& operator=(const SharedTime&) = delete;

 private:
  std::uint64_t before_;
};

/// A pointer for each thread that the torch provider uses; zero in a new thread.
inline void*& torch_thread_slot() noexcept { return t_state.torch; }

/// Prefetches the cache lines of the next records. This processor's caches do not have them (the recorder has read
/// them, or they are only in memory), and the locked instruction that acquires a sequence waits for all earlier stores.
inline void fetch_lines_ahead(const char* end_of_record) noexcept {
  constexpr std::ptrdiff_t kAhead = 256;
  constexpr std::ptrdiff_t kLine = 64;
  arch::fetch_to_write(end_of_record[kAhead], end_of_record[kAhead + kLine]);
}

/// Requires that the thread's chunk has space.
inline wire::RecordHeader* append(wire::RecordType type, std::size_t bytes, std::uint32_t aux) noexcept {
  char* const at = t_state.chunk + t_state.used;
  auto* header = reinterpret_cast<wire::RecordHeader*>(at);
  fetch_lines_ahead(at + bytes);
  header->type = type;
  header->words = static_cast<std::uint16_t>(bytes / 8);
  header->aux = aux;
  header->seq = g_next_seq->fetch_add(wire::sequences_of(type), std::memory_order_relaxed);
  header->tsc = t_state.shared_tsc != 0 ? t_state.shared_tsc : cycles();
  return header;
}

/// begin_record() for the rare cases: the chunk is full or belongs to an earlier recording, or the gate is closed.
DCMT_AGENT_API void* begin_record_slowly(wire::RecordType type, std::size_t bytes, std::uint32_t aux) noexcept;

/// Begins a record of `bytes` (a multiple of 8, at most wire::kMaxRecordBytes) in the calling thread's chunk: fills its
/// header and acquires its sequence. Returns nullptr if there is no space; the record then counts as lost. Fill the
/// record and call commit_record() before any other function of this header. Call it only inside a guard that entered.
inline void* begin_record(wire::RecordType type, std::size_t bytes, std::uint32_t aux) noexcept {
  if (!gate_open() || t_state.session != g_hot.session || t_state.used + bytes > spool::kChunkBytes) {
    return begin_record_slowly(type, bytes, aux);
  }
  return append(type, bytes, aux);
}

}  // namespace dcmt::agent
