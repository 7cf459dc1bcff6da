// Storages that outlive their step: born in one step, with bytes when it ends, and one step later.
#pragma once

#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

struct SurvivorSite {
  FrameId site;  ///< where the storages were made
  Bytes bytes;   ///< at the end of the step
  std::int64_t storages = 0;
  StorageId largest;
};

struct StepSurvivors {
  Step step;
  std::int64_t storages = 0, storages_next = 0;
  Bytes bytes;                      ///< made in the step, alive at its end
  std::optional<Bytes> bytes_next;  ///< of them, alive at the end of the next step; nullopt: none follows
  std::vector<SurvivorSite> sites;  ///< alive one step later (last step: at its end), most bytes first
};

/// One entry for every step that ended.
[[nodiscard]] std::vector<StepSurvivors> step_survivors(const TraceData& data);

}  // namespace dcmt::analyzer
