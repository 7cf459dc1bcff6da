// CUDA streams and torch's allocator: memory that the program had freed and the allocator could not reuse yet, and the
// memory that each stream's pool needed. Only a trace with detail `full` has streams and frees that wait.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/run_point.h"
#include "analyzer/load/trace_data.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

/// Blocks that were allocated at one place on one stream and waited at the same time.
struct WaitingSite {
  std::string site;
  std::optional<std::int32_t> stream;
  Bytes bytes;
  std::int64_t blocks = 0;
  TimeNs median, longest;
  std::optional<BlockId> largest_block;

  static constexpr std::string_view kShape = "waiting_site";
  static void describe(auto&& field) {
    field("site", &WaitingSite::site, "where they were allocated");
    field("stream", &WaitingSite::stream, "on which; 0: the default one; null: not known");
    field("bytes", &WaitingSite::bytes, "");
    field("blocks", &WaitingSite::blocks, "");
    field("median_ns", &WaitingSite::median, "");
    field("longest_ns", &WaitingSite::longest, "");
    field("largest_block", &WaitingSite::largest_block, "");
  }
};

/// Memory that was freed and waited for other streams when a device's active bytes (allocated, or waiting) peaked.
struct WaitsAtPeak {
  std::string_view device;
  RunPoint at;
  std::optional<std::int64_t> step;
  Bytes active, waiting, without_waits;
  std::int64_t blocks = 0;
  TimeNs median, longest;
  Bytes most_waiting, run_active;
  std::int64_t frees = 0, frees_that_waited = 0;
  std::vector<WaitingSite> sites;

  std::optional<std::string_view> phase;
  double byte_seconds = 0;  ///< of the blocks that waited at the peak

  static constexpr std::string_view kShape = "waits";
  static void describe(auto&& field) {
    field("device", &WaitsAtPeak::device, "");
    field("at", &WaitsAtPeak::at, "");
    field("step", &WaitsAtPeak::step, "");
    field("active_bytes", &WaitsAtPeak::active, "then");
    field("waiting_bytes", &WaitsAtPeak::waiting, "of them: freed, and waiting");
    field("without_waits_bytes", &WaitsAtPeak::without_waits,
          "the most that would have been active if nothing had waited");
    field("blocks", &WaitsAtPeak::blocks, "that waited then");
    field("median_ns", &WaitsAtPeak::median, "of their waits; what waits to the end of the trace counts until there");
    field("longest_ns", &WaitsAtPeak::longest, "");
    field("most_waiting_bytes", &WaitsAtPeak::most_waiting, "at once, over the whole trace");
    field("run_active_bytes", &WaitsAtPeak::run_active,
          "the most of the whole run: larger where the rows of its peak were not kept");
    field("frees", &WaitsAtPeak::frees, "blocks of the device that were freed");
    field("frees_that_waited", &WaitsAtPeak::frees_that_waited, "");
    field("sites", &WaitsAtPeak::sites, "most bytes first");
  }

  /// The part of the active bytes that waited.
  [[nodiscard]] double waiting_share() const {
    return static_cast<double>(waiting.value) / static_cast<double>(active.value);
  }
};

/// The memory that one stream's blocks needed in its pool.
struct StreamPool {
  std::optional<std::int32_t> stream;
  Bytes peak;

  static constexpr std::string_view kShape = "stream_pool";
  static void describe(auto&& field) {
    field("stream", &StreamPool::stream, "0: the default one");
    field("peak_bytes", &StreamPool::peak, "of its own active bytes");
  }
};

/// A place that allocates on several streams.
struct PoolSite {
  std::string site;
  std::int64_t streams = 0;
  Bytes bytes;
  std::optional<BlockId> largest_block;

  static constexpr std::string_view kShape = "pool_site";
  static void describe(auto&& field) {
    field("site", &PoolSite::site, "");
    field("streams", &PoolSite::streams, "");
    field("bytes", &PoolSite::bytes, "the sum of its peaks on each of them");
    field("largest_block", &PoolSite::largest_block, "");
  }
};

/// The memory that a device's allocator had reserved beyond the peak of its active bytes, and the part of it that
/// streams explain: a cached block serves only the stream on which it was allocated.
struct StreamPools {
  std::string_view device;
  Bytes reserved, active;  ///< the maximum of each, possibly at different times
  Bytes by_streams;        ///< at most what is reserved
  std::int64_t blocks = 0, blocks_without_stream = 0;
  std::vector<StreamPool> streams;
  std::vector<PoolSite> sites;

  bool only_steps_kept = false;  ///< parts of the run have no rows

  static constexpr std::string_view kShape = "pools";
  static void describe(auto&& field) {
    field("device", &StreamPools::device, "");
    field("reserved_bytes", &StreamPools::reserved, "at most");
    field("active_bytes", &StreamPools::active, "at most");
    field("idle_bytes", &StreamPools::idle, "the difference");
    field("by_streams_bytes", &StreamPools::by_streams,
          "of it: the sum of the streams' own peaks less the peak of all; of a trace with windows, at least");
    field("rest_bytes", &StreamPools::rest, "of it: rounding and fragmentation");
    field("blocks", &StreamPools::blocks, "of the device");
    field("blocks_without_stream", &StreamPools::blocks_without_stream, "of them: taken for the default stream's");
    field("streams", &StreamPools::streams, "largest peak first");
    field("sites", &StreamPools::sites, "that allocate on several streams, most bytes first");
  }

  [[nodiscard]] Bytes idle() const { return Bytes(reserved.value - active.value); }
  /// The part of idle() that streams do not explain.
  [[nodiscard]] Bytes rest() const { return Bytes(idle().value - by_streams.value); }
  /// The part of the reserved bytes that is idle.
  [[nodiscard]] double idle_share() const {
    return static_cast<double>(idle().value) / static_cast<double>(reserved.value);
  }
  /// The number of blocks whose stream is known.
  [[nodiscard]] std::int64_t known() const { return blocks - blocks_without_stream; }
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
