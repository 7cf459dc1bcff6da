// Memory that torch's allocator handed out again while a stream may still have used it for its former owner.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// Nothing orders `use` before `next_use`: neither an event, nor the host, nor a stream.
struct StreamRace {
  const Block* block = nullptr;  ///< freed; `next` got some of its bytes
  const Block* next = nullptr;
  const StreamCall* use = nullptr;  ///< the last use of `block` on its stream
  const StreamCall* next_use = nullptr;

  /// True if the block was used on a stream other than the one that it was allocated for, without record_stream(), and
  /// its own stream did not wait. Else the next use is on a stream that did not wait for the one that the memory was
  /// allocated for.
  [[nodiscard]] bool is_of_use() const { return use->stream != block->stream; }
};

struct StreamRaces {
  std::vector<StreamRace> races;  ///< one for each pair of blocks, in order of the next use
  std::int64_t blocks = 0;        ///< that were used by work on streams, and freed
  std::int64_t captured = 0;      ///< of them, not judged: a graph uses them
};

/// Empty if the trace has no work on streams. A pair of uses between which records are missing, or between which calls
/// were not observed, is not judged.
[[nodiscard]] StreamRaces stream_races(const TraceData& data);

}  // namespace dcmt::analyzer
