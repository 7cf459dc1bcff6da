#include "analyzer/rules/rounds.h"

#include <map>

#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {
namespace {

/// The least number of calls of a place that is reached repeatedly, and the last part of the run, which must have one.
constexpr std::size_t kFewestCalls = 6;
constexpr double kLastPart = 0.9;

}  // namespace

Rounds::Rounds(const TraceData& data) {
  for (const Step& step : steps_of(data)) {
    if (!step.to.valid()) continue;
    steps_ += step.count;
    ends_.push_back(step.to);
    until_.push_back(steps_);
  }
}

Rounds Rounds::steps_or_calls(const TraceData& data) {
  Rounds rounds(data);
  if (rounds.steps() == 0) rounds.add_calls(data);
  return rounds;
}

void Rounds::add_calls(const TraceData& data) {
  std::map<StackId, std::vector<Sequence>> places;
  Sequence begin, last;
  for (const Storage& storage : data.storages) {
    if (!begin.valid()) begin = storage.span.from_seq;
    last = std::max(last, storage.span.from_seq);
    if (storage.birth.stack.valid()) places[storage.birth.stack].push_back(storage.span.from_seq);
  }
  const auto late = static_cast<double>(begin.value) + kLastPart * static_cast<double>(last.value - begin.value);
  const std::vector<Sequence>* first = nullptr;
  for (const auto& [stack, made] : places) {
    if (made.size() < kFewestCalls || static_cast<double>(made.back().value) < late) continue;
    if (first == nullptr || made.front() < first->front()) first = &made;
  }
  if (first == nullptr) return;
  by_calls_ = true;
  for (std::size_t i = 1; i < first->size(); ++i) {
    ends_.push_back((*first)[i]);
    until_.push_back(++steps_);
  }
}

}  // namespace dcmt::analyzer
