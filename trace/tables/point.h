// Parts that the rows of several tables have.
//
// In fields of type RowId, 0 means that there is no row. A row whose `to` was never set is a lifetime that has not
// ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace dcmt {

using RowId = std::int64_t;

/// Limit of a text in table string, in bytes; a writer truncates longer text. Records of the wire have no longer text.
inline constexpr std::size_t kLongestText = 16 * 1024;

/// A point in the process's order of events and on its monotonic clock. seq 0: not set.
struct Point {
  std::int64_t seq = 0;
  std::int64_t ns = 0;
  [[nodiscard]] bool set() const { return seq != 0; }
};

struct Span {
  Point from;
  Point to;
};

/// Where an event happened. The thread number may be 0, so it is optional.
struct Place {
  std::optional<std::int64_t> thread;
  RowId operator_id = 0;
  RowId stack = 0;
};

}  // namespace dcmt
