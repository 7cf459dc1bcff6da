// Requests that an allocator could not satisfy: their rows, and the memory that was alive then.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collector/recorder/assemble/census_book.h"
#include "collector/recorder/assemble/lifetimes.h"
#include "collector/recorder/assemble/marks.h"
#include "collector/recorder/assemble/operators.h"
#include "collector/recorder/assemble/owner_book.h"
#include "collector/recorder/assemble/stack_places.h"
#include "collector/recorder/console/oom_lines.h"
#include "collector/recorder/keep/device.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class OutOfMemory {
 public:
  OutOfMemory(Journal& journal, const Operators& operators, Lifetimes& lifetimes, const Marks& marks,
              const CensusBook& censuses, const OwnerBook& owners, StackPlaces& places)
      : journal_(journal),
        operators_(operators),
        lifetimes_(lifetimes),
        marks_(marks),
        censuses_(censuses),
        owners_(owners),
        places_(places) {}

  Status apply(const wire::OutOfMemoryRecord& record);
  /// An operator of the current record's thread has ended. If its memory request failed, the agent has made a census of
  /// released storages at that point.
  Status operator_ended();
  /// The readings that the failed requests have waited for are over, or are not made.
  Status request_answered();
  /// This thread has allocated memory: it has caught its error.
  void work(std::uint32_t thread) { went_on_ |= thread == latest_thread_; }
  Status killed();
  Status finish();

  /// The live memory at the errors that were completed since the last call, as far as there was time for them, and at
  /// a kill.
  std::vector<OomFacts> drain();
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// Memory was allocated on the thread of the latest error since.
  [[nodiscard]] bool went_on() const { return went_on_; }

  template <class Visit>
  void visit(Visit&& visit) {
    visit("oom.count", count_);
  }

 private:
  /// Complete except for holders.
  struct Pending {
    std::uint32_t thread = 0;
    bool awaits_reading = false;
    OomFacts facts;
    std::map<std::string, std::vector<std::pair<RowId, std::int64_t>>> storages;  ///< and their bytes, by site
    std::vector<std::pair<RowId, std::int64_t>> held;                             ///< storages and their bytes
  };

  Status analyse(const OutOfMemoryRow& row);
  /// The blocks of one device, or of all.
  Status find_alive(const std::optional<Device>& device, Pending& error);
  Status complete(Pending& error);
  /// Completes the pending ones for which it holds.
  template <class IsReady>
  Status complete_if(IsReady is_ready);
  Status name_holders(Pending& error);

  Journal& journal_;
  const Operators& operators_;
  Lifetimes& lifetimes_;
  const Marks& marks_;
  const CensusBook& censuses_;
  const OwnerBook& owners_;
  StackPlaces& places_;
  std::int64_t count_ = 0;
  std::uint32_t latest_thread_ = 0;
  bool went_on_ = false;
  double spent_ = 0;  ///< CPU seconds of analyses
  std::vector<Pending> pending_;
  std::vector<OomFacts> seen_;
};

}  // namespace dcmt::recorder
