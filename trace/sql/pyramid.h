// The pyramid of each device's allocated curve: level 0 sums up 64 changes of the curve a row, every further level 64
// rows of the one below, up to a single row. No peak is lost on any level, so that any stretch of a run of any length
// is drawn from a few thousand rows.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/base/status.h"
#include "trace/sql/database.h"
#include "trace/sql/rows.h"

namespace dcmt {

inline constexpr int kPyramidFanOut = 64;

/// What the curve of a device does from a change on until the next row of the level begins.
struct PyramidRow {
  Moment from;                 ///< of its first change
  std::int64_t last = 0;       ///< bytes after its last change
  std::int64_t lowest = 0;     ///< after any of its changes
  std::int64_t highest = 0;    ///< the same; exact, also in intervals without rows
  Moment highest_at;           ///< first reached there
  std::int64_t sums_only = 0;  ///< of its changes, intervals without rows: there the curve may have been below `lowest`

  /// Takes in the row that follows.
  void take(const PyramidRow& next);
};

/// Builds the table `pyramid` from the rows of a trace, in place of one that is there: all of it or nothing. Reads the
/// blocks once, and needs memory for those that live at the same time.
/// @param schema  "main", or "temp" for a trace that is only read
/// Fails with kBadInput if rows make no sense.
Status build_pyramid(Database& database, std::string_view schema);

}  // namespace dcmt
