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

bool is_gathered(const TraceData& data, const Storage& storage) {
  return std::ranges::any_of(data.marks_by_storage.of(storage.id), &Mark::gives_storage);
}

}  // namespace dcmt::analyzer
