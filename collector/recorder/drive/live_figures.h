// The figures of `--live`, from the processes that are recorded.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "collector/recorder/console/live_view.h"
#include "collector/recorder/drive/report_so_far.h"
#include "collector/recorder/drive/session.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class LiveFigures {
 public:
  /// The view as of now. Call it regularly, at equal times.
  /// @param status  the session's line
  [[nodiscard]] std::string view(Session& session, std::string status, ScreenSize screen);

 private:
  using Clock = std::chrono::steady_clock;

  struct Process {
    LiveProcess figures;
    MemoryCurve curve;
  };
  void find_places(ProcessRecorder& recorder);

  std::map<std::string, Process> processes_;  ///< by the path of their trace
  std::string shown_;                         ///< of these, the one with the highest peak
  std::vector<AliveGroup> places_;
  Clock::time_point places_due_{};
  ReportSoFar report_;
};

}  // namespace dcmt::recorder
