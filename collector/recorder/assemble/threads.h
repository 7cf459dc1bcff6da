// The threads of a process. There may be hundreds of thousands of them one after the other, so almost nothing is stored
// for each.
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

  /// Continues with the threads of an unfinished trace.
  Status resume();

  /// Processes the first record of the current thread.
  Status begins(const wire::ThreadRecord& record);

  /// The current record has a thread. If the thread's first record was lost, it still needs a row for others to refer
  /// to.
  Status see();

  /// The number of the latest thread with this kernel thread id; none if there was no such thread.
  std::optional<std::int64_t> with_tid(std::uint64_t tid);

 private:
  /// True if the number is new.
  bool note(std::uint32_t number);

  Journal& journal_;
  std::unordered_map<std::uint32_t, std::uint64_t> seen_;  ///< a bit for each number, 64 in an entry
  std::optional<std::uint32_t> last_;                      ///< the latest one
  std::unordered_map<std::uint64_t, std::int64_t> asked_;  ///< by tid: earlier results of with_tid() from the trace
};

}  // namespace dcmt::recorder
