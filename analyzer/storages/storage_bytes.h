// The bytes of one storage over time.
#pragma once

#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// Bytes of the storage right after the event at `at`: those of its birth, changed by its resizes, none before its
/// birth, after its end and once all blocks it ever had by then are freed.
[[nodiscard]] Bytes bytes_at(const TraceData& data, const Storage& storage, Sequence at);

/// Where its blocks lie; zero if the trace has none.
[[nodiscard]] StringId device_of(const TraceData& data, StorageId storage);

/// The first event after `after` that left the storage without bytes; absent if they are there to the end.
[[nodiscard]] Maybe<Gone> first_gone(const TraceData& data, const Storage& storage, Sequence after);

/// Its blocks that cover `at`: one, or two while a resize copies.
[[nodiscard]] std::vector<const Block*> blocks_at(const TraceData& data, StorageId storage, Sequence at);

}  // namespace dcmt::analyzer
