// CUDA streams and torch's allocator: what it could not hand out although the program had freed it, and what each
// stream's pool needed. Only a trace with detail `full` knows streams and frees that wait.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

/// Blocks allocated at one place on one stream that waited at one moment.
struct WaitingSite {
  FrameId site;
  std::int32_t stream = kNoStream;  ///< of the allocation
  Bytes bytes;
  std::int64_t blocks = 0;
  TimeNs median, longest;  ///< wait; of what waits to the end of the trace, until then
  BlockId largest;
};

/// What had been freed and waited for other streams when a device's active bytes (allocated, or waiting) were highest.
struct WaitsAtPeak {
  StringId device;
  Sequence seq;  ///< of the peak
  TimeNs ns;
  const Step* step = nullptr;
  Bytes active;                         ///< at the peak
  Bytes without_waits;                  ///< the peak if nothing had waited: of allocated bytes
  Bytes run_active;                     ///< at most, whether the rows of that moment were kept or not
  WaitingSite all;                      ///< without a site and a stream
  std::vector<WaitingSite> sites;       ///< most bytes first
  Bytes most;                           ///< that waited at once, at any moment of the trace
  std::int64_t frees = 0, waiting = 0;  ///< of the device's blocks: how many were freed, and of them, had to wait
  double byte_seconds = 0;              ///< of the blocks that waited at the peak
};

/// What one stream's blocks took of its pool.
struct StreamPool {
  std::int32_t stream = kNoStream;
  Bytes peak;  ///< of its own active bytes
};

/// A place that allocates on several streams.
struct PoolSite {
  FrameId site;
  std::int64_t streams = 0;
  Bytes bytes;  ///< the sum of its peaks on each of them
  BlockId largest;
};

/// What a device's allocator had reserved beyond what was ever active at once, and how much of it streams explain:
/// a cached block serves the stream only on which it was allocated.
struct StreamPools {
  StringId device;
  Bytes reserved, active;           ///< at most, each by itself
  std::vector<StreamPool> streams;  ///< largest peak first
  std::vector<PoolSite> sites;      ///< most bytes first
  Bytes by_streams;                 ///< sum of the streams' own peaks less the peak of all, as far as it is reserved
  std::int64_t blocks = 0, without_stream = 0;  ///< of the device; of them, those whose stream is not known

  [[nodiscard]] Bytes idle() const { return Bytes(reserved.value - active.value); }
  /// Not by streams.
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

/// Calls visit for every change, in order. What is done comes before what its bytes are used for.
void for_each_active_event(const TraceData& data, StringId device,
                           const std::function<void(const ActiveEvent&)>& visit);

/// The wait of a block, nullptr if it had none.
[[nodiscard]] const StreamWait* find_stream_wait(const TraceData& data, BlockId block);

}  // namespace dcmt::analyzer
