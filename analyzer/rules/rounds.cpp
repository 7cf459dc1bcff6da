#include "analyzer/rules/rounds.h"

#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

Rounds::Rounds(const TraceData& data) {
  for (const Step& step : steps_of(data)) {
    if (!step.to.valid()) continue;
    steps_ += step.count;
    ends_.push_back(step.to);
    until_.push_back(steps_);
  }
}

}  // namespace dcmt::analyzer
