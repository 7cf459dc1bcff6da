// The threads of a process, of which there may be hundreds of thousands one after the other: next to nothing is kept of
// each.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class Threads {
 public:
  explicit Threads(Journal& journal) : journal_(journal) {}

  /// Goes on with those of an unfinished trace.
  Status resume();

  /// The current record's thread says who it is.
  Status begins(const wire::ThreadRecord& record);

  /// The current record has a thread. One whose first record was lost still needs the row that others name.
  Status see();

  /// The number of the latest thread with that kernel id; none if there was no such thread.
  std::optional<std::int64_t> with_tid(std::uint64_t tid);

 private:
  /// True if the number is new.
  bool note(std::uint32_t number);

  Journal& journal_;
  std::unordered_map<std::uint32_t, std::uint64_t> seen_;  ///< a bit for each number, 64 to an entry
  std::optional<std::uint32_t> last_;                      ///< that was seen
  std::unordered_map<std::uint64_t, std::int64_t> asked_;  ///< by tid: what with_tid() found in the trace
};

}  // namespace dcmt::recorder
