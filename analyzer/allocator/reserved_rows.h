// What torch's allocator of a GPU had reserved at one point in time, byte by byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

enum class ReservedKind : std::uint8_t {
  kRequested,    ///< in blocks, as the program asked for
  kRounding,     ///< in blocks, more than it asked for
  kWaiting,      ///< in freed blocks that another stream still uses
  kKept,         ///< free, in a segment with blocks: it cannot be given back
  kOtherStream,  ///< free, in a segment of another stream: a request cannot have it
  kPrivatePool,  ///< free, in a segment of a private pool
  kReleasable,   ///< free, and can be given back
};

[[nodiscard]] std::string_view name_of(ReservedKind kind);

/// Bytes of one kind.
struct ReservedRow {
  ReservedKind kind = ReservedKind::kRequested;
  std::optional<std::int64_t> stream, pool;
  Bytes bytes, releasable;
  std::int64_t segments = 0;

  static constexpr std::string_view kShape = "reserved_row";
  static void describe(auto&& field) {
    field(
        "kind", &ReservedRow::kind,
        "\"requested\" (in blocks, as the program asked for), \"rounding\" (in blocks, beyond that), \"waiting\" (in "
        "freed blocks that another stream still uses); free are \"kept\" (in a segment with blocks), \"other stream\" "
        "(in a segment of another stream than the request's), \"private pool\" and \"releasable\"");
    field("stream", &ReservedRow::stream, "of an \"other stream\" row; 0: the default one");
    field(
        "pool", &ReservedRow::pool,
        "of a \"private pool\" row, of a graph or a torch.cuda.MemPool: N has the id (0, N) for torch, -N has (N, 0)");
    field("bytes", &ReservedRow::bytes, "");
    field("releasable_bytes", &ReservedRow::releasable, "of them, those that empty_cache() gives back");
    field("segments", &ReservedRow::segments, "that they lie in");
  }
};

/// A segment with free bytes that cannot be given back, because blocks live in it.
struct HeldSegment {
  std::int64_t address = 0;
  std::int32_t stream = 0;
  std::int64_t pool = 0;
  Bytes bytes;
  Bytes free = {}, largest_free = {};
  std::vector<const Block*> blocks = {};  ///< that are alive or waiting, largest first
};

struct ReservedAt {
  StringId device;
  Sequence at;
  std::optional<std::int32_t> stream;  ///< of the latest request
  Bytes reserved;
  Bytes largest_free;               ///< the largest free piece that a request on this stream can have
  std::vector<ReservedRow> rows;    ///< in the order of their kinds
  std::vector<HeldSegment> held;    ///< most free bytes first
  std::int64_t blocks_unknown = 0;  ///< alive, but outside of every segment
  bool sizes_known = true;          ///< false: the trace has no sizes of blocks, only what was asked for
};

/// Right after the event at `at`. The trace must have segments of the device.
[[nodiscard]] ReservedAt reserved_at(const TraceData& data, StringId device, Sequence at);

/// When the device's segments had most bytes: at the request that needed the last of them.
[[nodiscard]] Sequence reserved_peak(const TraceData& data, StringId device);

/// True if the trace has segments of the device.
[[nodiscard]] bool has_segments(const TraceData& data, StringId device);

}  // namespace dcmt::analyzer
