// Gathers without a final release in time.
#pragma once

#include <vector>

#include "analyzer/rules/finding.h"

namespace dcmt::analyzer::rules {

enum class LeftBecause {
  kNoRelease,   ///< the program went on, and no final release came
  kNoBackward,  ///< only backwards release it, and no backward of its model is known to have followed
  kNotKnown,    ///< records were lost, and a release may be among them
};

struct LeftGathered {
  LeftBecause because = LeftBecause::kNoRelease;
  FindingItem item;
};

/// Storages that are alive after a gather without a final release at the end of their step (without steps: at the end
/// of the trace's last operator). The open step of a killed program is not judged.
[[nodiscard]] std::vector<LeftGathered> left_gathered(const TraceData& data, const Releases& releases);

}  // namespace dcmt::analyzer::rules
