// The spool: a file in shared memory through which the agent hands records to the recorder. See trace/spool/README.md.
// Freestanding: included by the agent.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "trace/spool/cpu_memory.h"
#include "trace/spool/small_sizes.h"

namespace dcmt::spool {

inline constexpr char kMagic[8] = {'D', 'C', 'M', 'T', 'S', 'P', 'L', '1'};
inline constexpr std::size_t kChunkBytes = 64 * 1024;
inline constexpr std::size_t kHeaderBytes = 4096;
inline constexpr std::uint32_t kDefaultChunks = 1024;
inline constexpr std::uint32_t kMaxChunks = 65536;

/// The agent's latest state.
enum class AgentState : std::uint32_t {
  kStarting = 0,
  kRecording = 1,
  kFinished = 2,  ///< the process exits normally (its exit handler ran)
  kRefused = 3,   ///< the self-check failed; `message` says why
};

/// The process asks its recorder to read its memory, and waits for the answer. The word is a futex: whoever changes it
/// wakes the other side. The process sets kEnded, kRequested and kHeld from kNone or after an answer; the recorder sets
/// the other values.
enum class AskedReading : std::uint32_t {
  kNone = 0,       ///< no request yet
  kEnded = 1,      ///< the program has ended: read its memory if another reading would add information
  kRequested = 2,  ///< the program wants a reading that begins after this request
  kUnderWay = 3,   ///< the recorder reads the memory, or is about to
  kDone = 4,       ///< the recorder has read the memory, or a last reading would add nothing
  kNotRead = 5,    ///< the recorder cannot read the memory
  kHeld = 6,       ///< the program waits at a point of its work: read its variables now
};

/// Sequences reserved before the first record of an attached recording.
inline constexpr std::uint64_t kRoomForPast = std::uint64_t{1} << 20;

/// First page of the file.
struct Header {
  char magic[8];
  std::uint32_t wire_version;
  std::uint32_t chunk_count;
  std::uint64_t chunk_bytes;
  std::uint32_t pid;
  std::uint32_t parent_pid;
  std::uint64_t tsc_hz;  ///< 0 if unknown
  std::uint64_t start_tsc;
  std::uint64_t start_monotonic_ns;
  std::uint64_t start_real_ns;
  std::uint64_t process_start;       ///< clock ticks since boot, field 22 of /proc/PID/stat; 0 if unknown
  std::int32_t rank;                 ///< -1 if none
  std::int32_t world_size;           ///< -1 if none
  std::atomic<std::uint32_t> state;  ///< AgentState
  std::uint32_t detail;              ///< dcmt::Detail
  char torch_version[32];
  char python_version[32];
  char message[512];  ///< one line for the user when state is kRefused
  /// The first sequence that the agent assigns; 0 means 1. Lower sequences describe what the process had when a
  /// recorder attached.
  std::uint64_t first_seq;
  alignas(64) std::atomic<std::uint64_t> next_seq;  ///< the next sequence to assign; the first is 1
  alignas(64) std::atomic<std::uint32_t> chunk_hint;
  std::atomic<std::uint32_t> threads;           ///< thread numbers assigned
  std::atomic<std::uint32_t> given_back;        ///< the recorder increments it after it has freed chunks
  alignas(64) std::atomic<std::uint64_t> lost;  ///< records lost because no chunk was free
  /// Forked children, and their children, that allocated tensor memory. They are not recorded.
  std::atomic<std::uint32_t> forked_children;
  std::atomic<std::uint32_t> taken_over;     ///< 1 once a recorder has opened the spool to drain it
  std::atomic<std::uint32_t> asked_reading;  ///< AskedReading
  std::atomic<std::uint32_t> holds;          ///< times that the program has waited at a point of its work
  std::atomic<std::uint64_t> held_ns;        ///< the sum of these waits
  std::atomic<std::uint64_t> longest_hold_ns;
  SmallSizes small_sizes;
  CpuMemory cpu_memory;
};
static_assert(sizeof(Header) <= kHeaderBytes);

enum class ChunkState : std::uint32_t { kFree = 0, kOpen = 1, kFull = 2 };

/// One per chunk, in an array after the header page. A thread owns an open chunk and is its only writer; `committed`
/// is stored with release order after a record is complete, and bytes before it never change until the recorder has
/// made them durable and sets the state to free.
struct alignas(64) ChunkDescriptor {
  std::atomic<std::uint32_t> state;
  std::uint32_t thread;                  ///< the agent's thread number
  std::atomic<std::uint32_t> committed;  ///< bytes of complete records
  std::uint32_t reserved;
  std::uint64_t tid;
};
static_assert(sizeof(ChunkDescriptor) == 64);

constexpr std::size_t chunks_offset(std::uint32_t chunk_count) {
  const std::size_t end = kHeaderBytes + chunk_count * sizeof(ChunkDescriptor);
  return (end + 4095) & ~std::size_t{4095};
}

constexpr std::size_t file_bytes(std::uint32_t chunk_count) {
  return chunks_offset(chunk_count) + std::size_t{chunk_count} * kChunkBytes;
}

}  // namespace dcmt::spool
