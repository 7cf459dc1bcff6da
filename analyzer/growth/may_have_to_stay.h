// Whether some of what grows may have to stay in a mended program, although no statement was found that uses it.
#pragma once

#include <cstdint>

#include "analyzer/growth/growth.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// True if the program itself has such storages for long, and how much of what is there it needs is not known:
///
/// - Others of the growing places were dropped rounds later than the kept ones are said to be needed: a queue or a heap
///   from which the program takes entries.
/// - The kept ones are needed for many rounds, as a window of the latest: readings show how many only about.
/// - It is garbage that gc.freeze() hides: without that, instead of a change that makes no cycles, it is there until
///   Python's collector frees it.
///
/// @param peak  without the growth
/// @param much  fewer bytes do not count
[[nodiscard]] bool may_have_to_stay(const TraceData& data, const Growth& growth, Sequence peak, std::int64_t much);

}  // namespace dcmt::analyzer
