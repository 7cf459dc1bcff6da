// Samples the memory of the children that a process has forked, which nobody records. If what they do not share
// grows, the memory of one of them is read for its collections.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "collector/recorder/process/memory_reader.h"
#include "collector/scan/layout/torch_layout.h"
#include "trace/base/status.h"
#include "trace/sql/trace_writer.h"

namespace dcmt::recorder {

/// Decides when the children are sampled, and when one of them is read. Times are seconds since the first question.
/// Thread-safety: none.
class ForkedSchedule {
 public:
  [[nodiscard]] bool is_due(double now) const;
  /// @param took  processor time
  void sampled(double now, double took);
  /// @param unshared  bytes that the children do not share, in sum
  [[nodiscard]] bool reading_is_due(double now, std::int64_t unshared) const;
  void reading_begins(std::int64_t unshared) { at_reading_ = unshared; }
  /// Another one is due at once: of another child, if the first one has ended.
  void reading_failed() { at_reading_ = 0; }
  void reading_took(double seconds) { readings_ += seconds; }

 private:
  double next_ = 0;
  std::int64_t at_reading_ = 0;
  double samples_ = 0, latest_sample_ = 0, readings_ = 0;  ///< processor time
};

/// Thread-safety: none.
class ForkedSamples {
 public:
  /// `writer` must outlive it.
  ForkedSamples(TraceWriter& writer, pid_t pid) : writer_(writer), pid_(pid) {}

  /// From now on the memory of children is read, too.
  void read_with(const scan::LayoutFolders& layouts) { layouts_ = layouts; }
  /// Samples if it is time, and begins or ends a reading. Returns whether a row was written.
  /// @param seq  the latest applied record
  Expected<bool> poll(std::int64_t seq);
  /// Waits for the reading that runs.
  Status end(std::int64_t seq);

 private:
  Expected<bool> sample(std::int64_t seq);
  /// True if a reading is over. @param wait  waits for it
  Expected<bool> receive(std::int64_t seq, bool wait);
  double seconds();

  TraceWriter& writer_;
  const pid_t pid_;
  std::optional<scan::LayoutFolders> layouts_;
  ForkedSchedule schedule_;
  std::optional<std::int64_t> began_ns_;
  RowId latest_ = 0, reading_ = 0;
  pid_t read_pid_ = 0;
  std::unique_ptr<MemoryReader> reader_;  ///< nullptr: none runs
};

}  // namespace dcmt::recorder
