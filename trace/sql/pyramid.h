// The pyramid of each device's allocated curve. A row of level 0 summarizes 64 changes of the curve; a row of a further
// level summarizes 64 rows of the level below; the top level has a single row. No level loses a peak, so a few thousand
// rows are enough to draw any part of a run of any length.
#pragma once

#include <string_view>

#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt {

inline constexpr int kPyramidFanOut = 64;

/// Builds the table `pyramid` from the rows of a trace; replaces an existing one. On failure nothing is changed. Reads
/// the blocks once; its memory is proportional to the blocks that live at the same time.
/// @param schema  "main", or "temp" for a trace that is only read
/// Fails with kBadInput if rows contradict each other.
Status build_pyramid(Database& database, std::string_view schema);

}  // namespace dcmt
