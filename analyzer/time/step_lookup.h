// Finds the step of a point in a trace that is not loaded: a search reads a few of its intervals.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "trace/base/status.h"
#include "trace/base/typed_id.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

/// Numbers of consecutive steps.
struct StepRange {
  std::int64_t first = 0, last = 0;
};

/// Thread-safety: that of the database, which must outlive it.
class StepLookup {
 public:
  static Expected<StepLookup> open(Database& database);

  /// The steps from one point to another, both included; nullopt: no step ends after `from`. Steps that share their
  /// sums are included together.
  Expected<std::optional<StepRange>> between(Sequence from, Sequence to);

  /// The first and the last sequence of a step. The first one follows the end of the step before. nullopt: there is no
  /// such step.
  Expected<std::optional<std::pair<Sequence, Sequence>>> ends_of(std::int64_t step);

 private:
  StepLookup(Statement next, Statement latest, Statement ends)
      : next_(std::move(next)), latest_(std::move(latest)), ends_(std::move(ends)) {}

  Statement next_, latest_, ends_;
};

}  // namespace dcmt::analyzer
