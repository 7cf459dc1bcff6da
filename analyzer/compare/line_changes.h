// What changed between the compositions of two peaks, line by line, even if lines were moved or functions were renamed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/compare/memory_facts.h"

namespace dcmt::analyzer {

/// A composition without line numbers: for each function, the bytes of its lines in order.
using Composition = std::map<std::string, std::vector<std::int64_t>>;

/// Contains all lines.
[[nodiscard]] Composition composition_of(const std::vector<AllocationLine>& lines);

/// Contains the lines that are worth a reviewer's time: those with at least a four-hundredth of all bytes, at most 32.
/// The bytes of the others are summed in the function "rest".
[[nodiscard]] Composition short_composition_of(const std::vector<AllocationLine>& lines);

struct LineChange {
  AllocationLine line;  ///< in the later run; of a line that is gone: its function alone
  Bytes before;
  std::int64_t change = 0;  ///< bytes after less bytes before
  /// For a new line: neighbours with the same bytes. Any of them may be the new line instead.
  std::vector<AllocationLine> or_lines = {};
};

/// The lines whose bytes differ, most growth first. Lines of one function are matched in order, so that the changes are
/// as small as possible. Lines of a new function are matched with those of the most similar function that is gone.
/// Lines that were moved into a new function, or out of a deleted one, are no change. If `before` has a "rest", each
/// line that is smaller than all lines that `before` names counts as part of it.
[[nodiscard]] std::vector<LineChange> line_changes(const Composition& before, const std::vector<AllocationLine>& now);

/// Settles `or_lines` across several peaks of one run: where any of several lines may be the new one, the line that
/// most of the other peaks name is chosen.
void settle_by_others(std::vector<std::vector<LineChange>>& facts);

/// A line's part in the change of a sum.
struct LineShare {
  LineChange line;
  double share = 0;  ///< part of all changes in the same direction, 0 to 1
};

/// The lines that changed in the direction of `change` (its sign), the largest change first. Lines may also change in
/// the other direction: the two peaks can have different things alive.
[[nodiscard]] std::vector<LineShare> shares_of(const std::vector<LineChange>& changes, std::int64_t change);

}  // namespace dcmt::analyzer
