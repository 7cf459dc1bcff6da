// CUDA streams and torch's allocator: memory that the program had freed and the allocator could not reuse yet, and the
// memory that each stream's pool needed. Only a trace with detail `full` has streams and frees that wait.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

/// Blocks that were allocated at one place on one stream and waited at the same time.
struct WaitingSite {
  FrameId site;
  std::int32_t stream = kNoStream;  ///< the stream of the allocation
  Bytes bytes;
  std::int64_t blocks = 0;
  TimeNs median, longest;  ///< of the waits; a wait without an end counts until the end of the trace
  BlockId largest;
};

/// Memory that was freed and waited for other streams when a device's active bytes (allocated, or waiting) peaked.
struct WaitsAtPeak {
  StringId device;
  Sequence seq;  ///< the sequence of the peak
  TimeNs ns;
  const Step* step = nullptr;
  Bytes active;                         ///< at the peak
  Bytes without_waits;                  ///< the peak of the allocated bytes: as if nothing had waited
  Bytes run_active;                     ///< the maximum of the run, including parts whose rows were not kept
  WaitingSite all;                      ///< the sum of all sites, without a site and a stream
  std::vector<WaitingSite> sites;       ///< most bytes first
  Bytes most;                           ///< the most bytes that waited at the same time, over the whole trace
  std::int64_t frees = 0, waiting = 0;  ///< blocks of the device that were freed; those of them that had to wait
  double byte_seconds = 0;              ///< of the blocks that waited at the peak
};

/// The memory that one stream's blocks needed in its pool.
struct StreamPool {
  std::int32_t stream = kNoStream;
  Bytes peak;  ///< the peak of the stream's own active bytes
};

/// A place that allocates on several streams.
struct PoolSite {
  FrameId site;
  std::int64_t streams = 0;
  Bytes bytes;  ///< the sum of its peaks on each of these streams
  BlockId largest;
};

/// The memory that a device's allocator had reserved beyond the peak of its active bytes, and the part of it that
/// streams explain: a cached block serves only the stream on which it was allocated.
struct StreamPools {
  StringId device;
  Bytes reserved, active;           ///< the maximum of each, possibly at different times
  std::vector<StreamPool> streams;  ///< largest peak first
  std::vector<PoolSite> sites;      ///< most bytes first
  Bytes by_streams;                 ///< sum of the streams' own peaks less the peak of all, at most what is reserved
  std::int64_t blocks = 0, without_stream = 0;  ///< blocks of the device; those whose stream is unknown

  [[nodiscard]] Bytes idle() const { return Bytes(reserved.value - active.value); }
  /// The part of idle() that streams do not explain.
  [[nodiscard]] Bytes rest() const { return Bytes(idle().value - by_streams.value); }
};

/// A change of a device's active bytes.
struct ActiveEvent {
  enum class Kind : std::uint8_t { kAlloc, kFree, kFreeThatWaits, kDone };

  Sequence seq;
  TimeNs ns;
  Kind kind = Kind::kAlloc;
  const Block* block = nullptr;
};

/// Calls visit for every change, in order. Of changes at one sequence, ends come before the allocations that reuse
/// them.
void for_each_active_event(const TraceData& data, StringId device,
                           const std::function<void(const ActiveEvent&)>& visit);

/// The wait of a block; nullptr if it did not wait.
[[nodiscard]] const StreamWait* find_stream_wait(const TraceData& data, BlockId block);

}  // namespace dcmt::analyzer
