// The bytes of one storage over time.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

enum class GoneBy {
  kResize,      ///< the storage was resized to nothing
  kStorageEnd,  ///< its last reference went
  kBlockFree,   ///< its block was freed under it
};

/// When and by whom a storage's bytes went.
struct Gone {
  GoneBy by = GoneBy::kStorageEnd;
  Sequence seq;
  TimeNs ns;
  Actor actor;
  std::optional<std::int64_t> ordinal;  ///< operators begun on the actor's thread by then, where known
};

/// Bytes of the storage right after the event at `at`: those of its birth, changed by its resizes, none before its
/// birth, after its end and once all blocks it ever had by then are freed.
[[nodiscard]] Bytes bytes_at(const TraceData& data, const Storage& storage, Sequence at);

/// Where its blocks lie; zero if the trace has none.
[[nodiscard]] StringId device_of(const TraceData& data, StorageId storage);

/// The first event after `after` that left the storage without bytes; nullopt if they are there to the end.
[[nodiscard]] std::optional<Gone> first_gone(const TraceData& data, const Storage& storage, Sequence after);

/// Its blocks that cover `at`: one, or two while a resize copies.
[[nodiscard]] std::vector<const Block*> blocks_at(const TraceData& data, StorageId storage, Sequence at);

[[nodiscard]] std::string_view name_of(GoneBy gone_by);

}  // namespace dcmt::analyzer
