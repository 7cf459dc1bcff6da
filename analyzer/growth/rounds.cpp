#include "analyzer/growth/rounds.h"

#include <map>

#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {
namespace {

/// The least number of calls of a place that is reached repeatedly, and the last part of the run, which must have one.
constexpr std::size_t kFewestCalls = 6;
constexpr double kLastPart = 0.9;

/// Empty if the program reaches no place repeatedly.
std::vector<Sequence> calls_of_first_place(const TraceData& data) {
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
  return first != nullptr ? *first : std::vector<Sequence>();
}

}  // namespace

std::string_view name_of(RoundKind kind) {
  switch (kind) {
    case RoundKind::kStep:
      return "step";
    case RoundKind::kBackward:
      return "backward";
    case RoundKind::kCall:
      return "call";
  }
  return "";
}

void Rounds::add(Sequence end, std::int64_t steps) {
  until_.push_back(this->steps() + steps);
  ends_.push_back(end);
}

Rounds Rounds::steps(const TraceData& data) {
  Rounds rounds(RoundKind::kStep);
  for (const Step& step : steps_of(data)) {
    if (step.to.valid()) rounds.add(step.to, step.count);
  }
  return rounds;
}

Rounds Rounds::backwards(const TraceData& data) {
  Rounds rounds(RoundKind::kBackward);
  for (const Mark& mark : data.marks) {
    if (is_phase(data, &mark, "backward") && mark.span.ended()) rounds.add(mark.span.to_seq);
  }
  return rounds;
}

Rounds Rounds::calls(const std::vector<Sequence>& begins) {
  Rounds rounds(RoundKind::kCall);
  for (std::size_t i = 1; i < begins.size(); ++i) rounds.add(begins[i]);
  return rounds;
}

Rounds Rounds::steps_or_calls(const TraceData& data) {
  Rounds rounds = steps(data);
  return rounds.size() > 0 ? rounds : calls(calls_of_first_place(data));
}

}  // namespace dcmt::analyzer
