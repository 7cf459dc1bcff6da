// The bytes of one storage over time.
#pragma once

#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// The bytes of the storage right after the event at `at`: its bytes at birth, changed by resizes. 0 before its birth,
/// after its end, and when all blocks that it has had by then are freed.
[[nodiscard]] Bytes bytes_at(const TraceData& data, const Storage& storage, Sequence at);

/// The device of its blocks; zero if the trace has none.
[[nodiscard]] StringId device_of(const TraceData& data, StorageId storage);

/// The first event after `after` that left the storage without bytes; absent if the bytes exist to the end.
[[nodiscard]] Maybe<Gone> first_gone(const TraceData& data, const Storage& storage, Sequence after);

/// The blocks that are alive at `at`: one, or two while a resize copies.
[[nodiscard]] std::vector<const Block*> blocks_at(const TraceData& data, StorageId storage, Sequence at);

/// The begin of the storage's memory: its block is recorded before the storage.
[[nodiscard]] Sequence begin_of(const TraceData& data, const Storage& storage);

}  // namespace dcmt::analyzer
