// Requests that an allocator could not satisfy: their rows, and the memory that was alive then.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "collector/recorder/assemble/census_book.h"
#include "collector/recorder/assemble/lifetimes.h"
#include "collector/recorder/assemble/marks.h"
#include "collector/recorder/assemble/operators.h"
#include "collector/recorder/assemble/stack_places.h"
#include "collector/recorder/console/oom_lines.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class OutOfMemory {
 public:
  OutOfMemory(Journal& journal, const Operators& operators, Lifetimes& lifetimes, const Marks& marks,
              const CensusBook& censuses, StackPlaces& places)
      : journal_(journal),
        operators_(operators),
        lifetimes_(lifetimes),
        marks_(marks),
        censuses_(censuses),
        places_(places) {}

  Status apply(const wire::OutOfMemoryRecord& record);
  /// An operator of the current record's thread has ended. If its memory request failed, the agent has made a census of
  /// released storages at that point.
  Status operator_ended();
  Status finish();

  /// The live memory at the errors that were completed since the last call. Only the first few errors of a process are
  /// analysed.
  std::vector<OomFacts> drain();
  [[nodiscard]] std::int64_t count() const { return count_; }

  template <class Visit>
  void visit(Visit&& visit) {
    visit("oom.count", count_);
  }

 private:
  /// Complete except for the holders of released storages.
  struct Pending {
    std::uint32_t thread = 0;
    OomFacts facts;
    std::vector<std::pair<RowId, std::int64_t>> held;  ///< storages and their bytes
  };

  Status analyse(const OutOfMemoryRow& row);
  Status find_alive(const OutOfMemoryRow& row, Pending& error);
  Status complete(Pending& error);

  Journal& journal_;
  const Operators& operators_;
  Lifetimes& lifetimes_;
  const Marks& marks_;
  const CensusBook& censuses_;
  StackPlaces& places_;
  std::int64_t count_ = 0;
  std::vector<Pending> pending_;
  std::vector<OomFacts> seen_;
};

}  // namespace dcmt::recorder
