// Steps and phases: which one a moment belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// A step of the training loop: [from, to). A step that was not over when the trace ended has `to` zero.
struct Step {
  std::int64_t number = 0;
  Sequence from, to;
  TimeNs from_ns, to_ns;
  MarkId mark;
  IntervalId sums;         ///< set if of this step, or of a part of it, only sums were kept
  std::int64_t count = 1;  ///< steps that it stands for: more than one where they share their sums
};

/// The steps in order. A step mark that is a moment ends the step that began at the mark before it (or at the start of
/// the trace); one that is a span is the step.
[[nodiscard]] std::vector<Step> steps_of(const TraceData& data);

/// The step a moment lies in, else the first that ends after it, else nullptr (then "the end of the trace" stands in).
[[nodiscard]] const Step* step_at(const std::vector<Step>& steps, Sequence at);

/// Whether a mark is the phase of this name, as "backward"; not if there is none.
[[nodiscard]] bool is_phase(const TraceData& data, const Mark* mark, std::string_view name);

/// Where a moment lies, for many moments: the innermost (latest begun) phase that covers it.
class PhaseIndex {
 public:
  PhaseIndex() = default;
  explicit PhaseIndex(const TraceData& data);
  /// The phase's mark, or nullptr outside of all phases.
  [[nodiscard]] const Mark* at(Sequence at) const;

 private:
  struct Segment {
    Sequence from;
    const Mark* phase;
  };
  std::vector<Segment> segments_;
};

/// The operator a person would name for an event inside `op`: the outermost plain operator, below backward nodes,
/// compiled regions and the program's own ranges (an all-gather rather than the empty() inside it). nullptr for the
/// zero id.
[[nodiscard]] const Operator* named_operator(const TraceData& data, OperatorId op);

/// Finds what --at names: a sequence number; "peak"; "end", of the recording; "exit", where the last block was
/// allocated, after which a program that ends only frees; "step:N" (its end); "oom" (an out-of-memory error);
/// "mark:NAME" or the name alone, meaning the mark's end; "oom#2", "name#2": the second one. nullopt if the trace has
/// no such point.
[[nodiscard]] std::optional<Sequence> find_point(const TraceData& data, std::string_view name, Sequence peak);

/// The out-of-memory error of that moment, nullptr if it is none.
[[nodiscard]] const OutOfMemory* out_of_memory_at(const TraceData& data, Sequence at);

/// The last sequence of the trace.
[[nodiscard]] Sequence last_sequence(const TraceData& data);
/// When the trace ends; 0 if it does not say.
[[nodiscard]] TimeNs last_ns(const TraceData& data);

/// The operator that ended last; nullptr if the trace has none. What comes after it is the program's end, which
/// releases nothing any more.
[[nodiscard]] const Operator* last_operator(const TraceData& data);

/// Where an operator ended; of one that did not, where it began.
[[nodiscard]] Sequence end_of(const Operator& op);

}  // namespace dcmt::analyzer
