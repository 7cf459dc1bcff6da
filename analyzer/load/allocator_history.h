// What torch's allocator of each GPU had reserved, and what it was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/load/maybe.h"
#include "analyzer/load/trace_rows.h"
#include "trace/base/status.h"
#include "trace/base/typed_id.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

/// Addresses that an allocator had reserved together; of an expandable segment, a part that was mapped at once.
struct Segment {
  std::optional<std::int64_t> gpu;
  std::int64_t address = 0;
  Bytes bytes;
  std::int32_t stream = kNoStream;
  bool expandable = false;
  std::optional<std::int64_t> pool;  ///< private pool; 0: none; nullopt: not known
  Span span;

  [[nodiscard]] bool has(std::int64_t at) const { return address <= at && at < address + bytes.value; }
};

/// Further facts about a Block of a GPU.
struct GpuBlock {
  BlockId id;
  std::optional<std::int64_t> gpu;
  std::int64_t address = 0;
  Maybe<Bytes> rounding;  ///< the part of its bytes that was not asked for
};

/// How the allocator of a GPU was set.
struct AllocatorSetup {
  std::optional<std::int64_t> gpu;
  Sequence seq;  ///< its segments were listed then
  StringId settings;
  std::optional<Bytes> limit;
};

/// Empty in a trace without segments.
struct AllocatorHistory {
  std::vector<Segment> segments;       ///< by begin
  std::vector<GpuBlock> blocks;        ///< by id
  std::vector<AllocatorSetup> setups;  ///< by GPU and time

  static Expected<AllocatorHistory> load(Database& database);
};

}  // namespace dcmt::analyzer
