// Findings about a device's allocator: memory that ran out, blocks that wait for streams, unused reserved memory.
#pragma once

#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/model/live_set.h"

namespace dcmt::model {

struct OutOfMemory {
  Point at;
  std::optional<std::int64_t> step;
  std::string_view device;
  Bytes requested, allocated;
  std::optional<Bytes> reserved, free, total;
  Bytes dead, missing;
  analyzer::OomCause cause = analyzer::OomCause::kNeeded;
  bool fits_without_dead = false, went_on = false;
  Actor by;

  std::optional<std::string_view> phase;
  std::int64_t index = 0;  ///< among the errors of the trace, from 1
  Bytes without_dead;      ///< allocated bytes without storages that were released and still held

  static constexpr std::string_view kShape = "out_of_memory";
  static void describe(auto&& field) {
    field("at", &OutOfMemory::at, "");
    field("step", &OutOfMemory::step, "");
    field("device", &OutOfMemory::device, "");
    field("requested_bytes", &OutOfMemory::requested, "CUDA: rounded as the allocator does");
    field("allocated_bytes", &OutOfMemory::allocated,
          "by torch's own count when it happened; CPU: of the blocks alive");
    field("reserved_bytes", &OutOfMemory::reserved, "by torch's own count");
    field("free_bytes", &OutOfMemory::free, "of the device, by CUDA");
    field("total_bytes", &OutOfMemory::total, "");
    field("dead_bytes", &OutOfMemory::dead, "released and still held, of those allocated");
    field("missing_bytes", &OutOfMemory::missing,
          "beyond what the device could give: so many would have had to be gone");
    field("cause", &OutOfMemory::cause, "\"held\", \"fragmented\", \"limited\", \"needed\"");
    field("fits_without_dead", &OutOfMemory::fits_without_dead, "the dead bytes are enough for those that are missing");
    field("went_on", &OutOfMemory::went_on, "the program caught the error");
    field("by", &OutOfMemory::by, "");
  }
};

/// Further facts about the first of several similar errors.
struct OutOfMemoryStory {
  std::optional<Groups> alive;         ///< by site; nullopt: rows of that part of the run were not kept
  std::vector<std::int64_t> findings;  ///< findings about releases whose storages were held at the error
  bool all_went_on = false;
};

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

struct Waits {
  std::string_view device;
  Point at;
  std::optional<std::int64_t> step;
  Bytes active, waiting, without_waits;
  std::int64_t blocks = 0;
  TimeNs median, longest;
  Bytes most_waiting, run_active;
  std::int64_t frees = 0, frees_that_waited = 0;
  std::vector<WaitingSite> sites;

  std::optional<std::string_view> phase;
  double waiting_share = 0;  ///< part of the active bytes

  static constexpr std::string_view kShape = "waits";
  static void describe(auto&& field) {
    field("device", &Waits::device, "");
    field("at", &Waits::at, "");
    field("step", &Waits::step, "");
    field("active_bytes", &Waits::active, "then");
    field("waiting_bytes", &Waits::waiting, "of them: freed, and waiting");
    field("without_waits_bytes", &Waits::without_waits, "the most that would have been active if nothing had waited");
    field("blocks", &Waits::blocks, "that waited then");
    field("median_ns", &Waits::median, "of their waits; what waits to the end of the trace counts until there");
    field("longest_ns", &Waits::longest, "");
    field("most_waiting_bytes", &Waits::most_waiting, "at once, over the whole trace");
    field("run_active_bytes", &Waits::run_active,
          "the most of the whole run: larger where the rows of its peak were not kept");
    field("frees", &Waits::frees, "blocks of the device that were freed");
    field("frees_that_waited", &Waits::frees_that_waited, "");
    field("sites", &Waits::sites, "most bytes first");
  }
};

struct StreamPool {
  std::optional<std::int32_t> stream;
  Bytes peak;

  static constexpr std::string_view kShape = "stream_pool";
  static void describe(auto&& field) {
    field("stream", &StreamPool::stream, "0: the default one");
    field("peak_bytes", &StreamPool::peak, "of its own active bytes");
  }
};

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

struct Pools {
  std::string_view device;
  Bytes reserved, active, idle, by_streams, rest;
  std::int64_t blocks = 0, blocks_without_stream = 0;
  std::vector<StreamPool> streams;
  std::vector<PoolSite> sites;

  double idle_share = 0;         ///< part of the reserved bytes
  std::int64_t known = 0;        ///< blocks whose stream is known
  bool only_steps_kept = false;  ///< parts of the run have no rows

  static constexpr std::string_view kShape = "pools";
  static void describe(auto&& field) {
    field("device", &Pools::device, "");
    field("reserved_bytes", &Pools::reserved, "at most");
    field("active_bytes", &Pools::active, "at most");
    field("idle_bytes", &Pools::idle, "the difference");
    field("by_streams_bytes", &Pools::by_streams,
          "of it: the sum of the streams' own peaks less the peak of all; of a trace with windows, at least");
    field("rest_bytes", &Pools::rest, "of it: rounding and fragmentation");
    field("blocks", &Pools::blocks, "of the device");
    field("blocks_without_stream", &Pools::blocks_without_stream, "of them: taken for the default stream's");
    field("streams", &Pools::streams, "largest peak first");
    field("sites", &Pools::sites, "that allocate on several streams, most bytes first");
  }
};

[[nodiscard]] std::vector<OutOfMemory> errors_of(const analyzer::Analysis& analysis, const analyzer::Finding& finding);
/// nullopt if the finding is not about out-of-memory errors.
[[nodiscard]] std::optional<OutOfMemoryStory> story_of_errors(const analyzer::Analysis& analysis,
                                                              const analyzer::Finding& finding);
[[nodiscard]] std::optional<Waits> waits_of(const analyzer::Analysis& analysis, const analyzer::Finding& finding);
[[nodiscard]] std::optional<Pools> pools_of(const TraceData& data, const analyzer::Finding& finding);

}  // namespace dcmt::model
