// The changes of a watched reference count in pairs: who took a reference, and who gave it back.
//
// A count does not say which of its references is given back. The pair is the most likely one by the stacks of both
// changes, by what their functions do with references, and by the variables that their statements name. It is certain
// only where the numbers leave one answer:
// - all references that may be there were taken at one place, or
// - one call of the interpreter to C took and gave back equally many, nothing but these in between, and either all were
//   taken at one place or all were given back at one place. Such a call leaves nothing behind. One that copies a
//   reference and gives the copied one back counts so, too: it only moves a reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// A reference. `taken` and `given_back` are indexes into the changes of its count.
struct PairedReference {
  std::optional<std::size_t> taken;       ///< nullopt: it was there before, or this change is missing
  std::optional<std::size_t> given_back;  ///< nullopt: it is left
  bool certain = false;
};

struct PairedCount {
  /// Those that were given back, in that order; then those that are left. Each change is in as many as its step.
  std::vector<PairedReference> references;
  std::int64_t missing = 0;        ///< changes without a row, at least
  std::int64_t missing_drops = 0;  ///< of `references` that are left, so many were given back by missing changes
};

[[nodiscard]] PairedCount pair_references(const TraceData& data, const WatchedCount& count);

}  // namespace dcmt::analyzer
