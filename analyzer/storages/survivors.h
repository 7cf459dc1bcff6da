// What outlives its step: storages born in one step that still have bytes when it ends, and one step later.
#pragma once

#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

struct SurvivorSite {
  FrameId site;  ///< where they were born
  Bytes bytes;   ///< at the end of the step
  std::int64_t storages = 0;
  StorageId largest;
};

struct StepSurvivors {
  Step step;
  std::int64_t storages = 0, storages_next = 0;
  Bytes bytes;                      ///< born in the step, alive at its end
  std::optional<Bytes> bytes_next;  ///< of them, alive at the end of the next step; nullopt without one
  std::vector<SurvivorSite> sites;  ///< of those alive one step later (of the last step: at its end), most bytes first
};

/// One entry for every step that ended.
[[nodiscard]] std::vector<StepSurvivors> step_survivors(const TraceData& data);

}  // namespace dcmt::analyzer
