// The begin of an attached process's trace: what it had before is read first, and records wait for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "collector/recorder/assemble/past.h"
#include "collector/recorder/process/readings.h"
#include "collector/recorder/process/spool_drain.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class PastReading {
 public:
  /// Both must outlive it.
  PastReading(SpoolDrain& process, Readings& readings) : process_(process), readings_(readings) {}

  /// Continues the reading. Once it is over, applies the records that waited: true.
  Expected<bool> poll();
  /// The recording ends before the reading is over: the past stays unknown.
  Status end();
  /// Memory from before the recording is counted, too. Valid once poll() has returned true.
  [[nodiscard]] bool is_known() const { return is_known_; }

 private:
  void hold_published();
  Status apply_held();
  Status give_up(const std::string& why);

  SpoolDrain& process_;
  Readings& readings_;
  PreAttachState book_;
  std::vector<std::uint64_t> words_;
  std::vector<std::pair<std::size_t, std::uint32_t>> records_;  ///< begin of each record, and its thread
  bool reads_ = false;
  bool is_known_ = false;
};

}  // namespace dcmt::recorder
