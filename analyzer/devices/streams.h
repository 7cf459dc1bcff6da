// CUDA streams and torch's allocator: memory that the program had freed and the allocator could not reuse yet. Only a
// trace with detail `full` has streams and frees that wait.
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
