// The pyramid of each device's allocated curve. A row of level 0 summarizes 64 changes of the curve; a row of a further
// level summarizes 64 rows of the level below; the top level has a single row. No level loses a peak, so a few thousand
// rows are enough to draw any part of a run of any length.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/base/status.h"
#include "trace/sql/database.h"
#include "trace/sql/rows.h"

namespace dcmt {

inline constexpr int kPyramidFanOut = 64;

/// A part of a device's curve: from its first change until the next row of the same level begins.
struct PyramidRow {
  Point from;                  ///< of its first change
  std::int64_t last = 0;       ///< bytes after its last change
  std::int64_t lowest = 0;     ///< lowest value after any of its changes
  std::int64_t highest = 0;    ///< highest value; exact, also in intervals without rows
  Point highest_at;            ///< where the curve first reached `highest`
  std::int64_t sums_only = 0;  ///< how many of its changes are intervals without rows; in those the curve may have been
                               ///< below `lowest`

  /// Merges the row that follows.
  void merge(const PyramidRow& next);
};

/// Builds the table `pyramid` from the rows of a trace; replaces an existing one. On failure nothing is changed. Reads
/// the blocks once; its memory is proportional to the blocks that live at the same time.
/// @param schema  "main", or "temp" for a trace that is only read
/// Fails with kBadInput if rows contradict each other.
Status build_pyramid(Database& database, std::string_view schema);

}  // namespace dcmt
