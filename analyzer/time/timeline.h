// Steps and phases, and the lookup of the one that contains a point in time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// A step of the training loop: [from, to). `to` is zero if the step had not ended when the trace ended.
struct Step {
  std::int64_t number = 0;
  Sequence from, to;
  TimeNs from_ns, to_ns;
  MarkId mark;
  IntervalId sums;         ///< set if only sums of this step, or of a part of it, were kept
  std::int64_t count = 1;  ///< number of steps: more than one if several share their sums
};

/// The steps in order. A step mark at one point ends the step that began at the mark before it (or at the start of the
/// trace). A step mark with a span is the step.
[[nodiscard]] std::vector<Step> steps_of(const TraceData& data);

/// The step that contains `at`; else the first that ends after it; else nullptr ("the end of the trace" is used then).
[[nodiscard]] const Step* step_at(const std::vector<Step>& steps, Sequence at);

/// The number of the last step that had ended at a point; nothing if none had.
/// @param end  the member of a step to which `at` compares: `to` or `to_ns`
template <class At>
[[nodiscard]] std::optional<std::int64_t> last_ended(const std::vector<Step>& steps, At at, At Step::*end) {
  const auto after =
      std::ranges::partition_point(steps, [&](const Step& step) { return step.to.valid() && step.*end <= at; });
  return after == steps.begin() ? std::nullopt : std::optional(std::prev(after)->number);
}

/// True if a mark is the phase of this name, such as "backward". False for nullptr.
[[nodiscard]] bool is_phase(const TraceData& data, const Mark* mark, std::string_view name);

/// Finds the phase of a point, for many points: the innermost (latest begun) phase that covers it.
class PhaseIndex {
 public:
  PhaseIndex() = default;
  explicit PhaseIndex(const TraceData& data);
  /// The mark of the phase; nullptr outside of all phases.
  [[nodiscard]] const Mark* at(Sequence at) const;

 private:
  struct Segment {
    Sequence from;
    const Mark* phase;
  };
  std::vector<Segment> segments_;
};

/// The operator that people would name for an event inside `op`: the outermost plain operator below backward nodes,
/// compiled regions and ranges of the program (an all-gather rather than the empty() inside it). nullptr for the zero
/// id.
[[nodiscard]] const Operator* named_operator(const TraceData& data, OperatorId op);

/// Finds the point that --at names: a sequence number; "peak"; "end" of the recording; "exit", the last allocation,
/// after which an ending program only frees; "step:N" (its end); "oom" (an out-of-memory error); "mark:NAME" or the
/// name alone (the mark's end); "oom#2", "name#2" (the second one). nullopt if the trace has no such point.
[[nodiscard]] std::optional<Sequence> find_point(const TraceData& data, std::string_view name, Sequence peak);

/// The out-of-memory error at that sequence; nullptr if there is none.
[[nodiscard]] const OutOfMemory* out_of_memory_at(const TraceData& data, Sequence at);

/// The last sequence of the trace.
[[nodiscard]] Sequence last_sequence(const TraceData& data);
/// The time at which the trace ends; 0 if the trace does not say it.
[[nodiscard]] TimeNs last_ns(const TraceData& data);

/// The operator that ended last; nullptr if the trace has none. Later events belong to the program's end, which
/// releases nothing.
[[nodiscard]] const Operator* last_operator(const TraceData& data);

/// The end of an operator; its begin if it did not end.
[[nodiscard]] Sequence end_of(const Operator& op);

}  // namespace dcmt::analyzer
