// What changed between the compositions of two peaks, line by line, though lines have moved and functions got other
// names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/compare/memory_facts.h"

namespace dcmt::analyzer {

/// A composition without line numbers: of each function the bytes of its lines, in their order.
using Composition = std::map<std::string, std::vector<std::int64_t>>;

/// Of all lines.
[[nodiscard]] Composition composition_of(const std::vector<AllocationLine>& lines);

/// Of the lines that are worth a reviewer's time: each at least a four-hundredth of all bytes, 32 of them at most. What
/// the others have is the function "rest".
[[nodiscard]] Composition short_composition_of(const std::vector<AllocationLine>& lines);

struct LineChange {
  AllocationLine line;  ///< as it is now; of a line that is gone, its function alone
  Bytes before;
  std::int64_t change = 0;  ///< bytes now less bytes before
  /// Of a new line: its neighbours with the same bytes. One of them may be the new one instead.
  std::vector<AllocationLine> or_lines = {};
};

/// The lines whose bytes differ, most growth first. Lines of one function are matched in their order, so that they
/// change least; those of a function that `before` does not have with those of the most similar one that is gone. Lines
/// that moved into a new function, or out of one that is gone, are no change. If `before` has a "rest", lines smaller
/// than each that it names count as such.
[[nodiscard]] std::vector<LineChange> line_changes(const Composition& before, const std::vector<AllocationLine>& now);

/// Changes of several peaks of one run: where it is open which of several lines is new (`or_lines`), it is the one that
/// most of the other peaks name.
void settle_by_others(std::vector<std::vector<LineChange>>& facts);

/// A line's part in a change of a sum.
struct LineShare {
  LineChange line;
  double share = 0;  ///< of all lines that changed in the same direction, 0 to 1
};

/// Of these, the lines that changed in the direction of `change` (its sign), the most changed first. A peak may have
/// had other things alive before, so that other lines changed against it.
[[nodiscard]] std::vector<LineShare> shares_of(const std::vector<LineChange>& changes, std::int64_t change);

}  // namespace dcmt::analyzer
