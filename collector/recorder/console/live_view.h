// What `run --live` shows below the program's output, and `attach --live` in the last rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collector/recorder/console/alive_group.h"
#include "collector/recorder/console/memory_curve.h"
#include "collector/recorder/console/status_line.h"

namespace dcmt::recorder {

/// A process that is recorded, or was.
struct LiveProcess {
  std::string name;  ///< "rank 3", "process 4711"
  std::int64_t steps = 0, allocated = 0, peak = 0;
  bool has_ended = false;
};

struct LiveFacts {
  std::string status;  ///< one line
  std::vector<LiveProcess> processes;
  std::string shown;               ///< name of the process that the curve and the places are of
  std::vector<AliveGroup> places;  ///< most bytes first
  std::int64_t peak = 0;           ///< of that process
  std::string findings;            ///< so far; empty: none was looked for yet
};

/// A third to a half of the screen, whatever there is to show: the rows must not move.
[[nodiscard]] std::string live_view(const LiveFacts& facts, const MemoryCurve& curve, ScreenSize screen);

}  // namespace dcmt::recorder
