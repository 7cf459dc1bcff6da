// Memory that torch's allocator had reserved of a GPU beyond what was in use: what it was, and what would make it less.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/allocator/kept_segments.h"
#include "analyzer/allocator/remedies.h"
#include "analyzer/allocator/reserved_rows.h"
#include "analyzer/load/run_point.h"

namespace dcmt::analyzer {

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

struct Fragmentation {
  std::string_view device;
  Bytes reserved, active;  ///< the maximum of each, possibly at different times
  std::optional<RunPoint> at;
  bool at_error = false;
  std::vector<ReservedRow> rows;
  std::int64_t kept_segments = 0;
  std::vector<KeptSegment> kept;
  std::optional<std::string> not_predicted;
  std::vector<Remedy> remedies;
  Bytes by_streams;  ///< at most idle()
  std::int64_t blocks = 0, blocks_without_stream = 0;
  std::vector<StreamPool> streams;
  std::vector<PoolSite> sites;

  std::optional<std::int64_t> step;
  std::optional<std::int32_t> stream;  ///< of the latest request
  bool only_steps_kept = false;        ///< parts of the run have no rows

  static constexpr std::string_view kShape = "fragmentation";
  static void describe(auto&& field) {
    field("device", &Fragmentation::device, "");
    field("reserved_bytes", &Fragmentation::reserved, "at most");
    field("active_bytes", &Fragmentation::active, "at most");
    field("idle_bytes", &Fragmentation::idle, "the difference");
    field("at", &Fragmentation::at,
          "of the rows: the peak of reserved bytes, or an out-of-memory error; null: no rows");
    field("at_error", &Fragmentation::at_error, "memory had run out then");
    field("rows", &Fragmentation::rows,
          "every byte reserved then, by what it was in; empty: the trace has no segments");
    field("kept_segments", &Fragmentation::kept_segments, "with free bytes that blocks keep, then");
    field("kept", &Fragmentation::kept, "the three of them with most free bytes");
    field("not_predicted", &Fragmentation::not_predicted,
          "why it is not known what would make it less; null: it is known");
    field("remedies", &Fragmentation::remedies,
          "what the model of the allocator was tried with, those that help first, the best at the begin");
    field(
        "by_streams_bytes", &Fragmentation::by_streams,
        "of the idle bytes: the sum of the streams' own peaks less the peak of all; of a trace with windows, at least");
    field("blocks", &Fragmentation::blocks, "of the device");
    field("blocks_without_stream", &Fragmentation::blocks_without_stream, "of them: taken for the default stream's");
    field("streams", &Fragmentation::streams, "largest peak first");
    field("sites", &Fragmentation::sites, "that allocate on several streams, most bytes first");
  }

  [[nodiscard]] Bytes idle() const { return Bytes(reserved.value - active.value); }
  /// The part of the reserved bytes that is idle.
  [[nodiscard]] double idle_share() const {
    return static_cast<double>(idle().value) / static_cast<double>(reserved.value);
  }
  /// The number of blocks whose stream is known.
  [[nodiscard]] std::int64_t known() const { return blocks - blocks_without_stream; }
  /// nullptr: nothing that was tried helps, or it is not known.
  [[nodiscard]] const Remedy* best() const {
    return !remedies.empty() && remedies.front().helps ? &remedies.front() : nullptr;
  }
};

}  // namespace dcmt::analyzer
