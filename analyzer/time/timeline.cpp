#include "analyzer/time/timeline.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {

namespace {

/// Adds the steps with sums only. If a part of such a step has rows, the step has its mark.
void add_sums_only(const TraceData& data, std::vector<Step>& steps) {
  if (!data.has_sums_only()) return;
  std::set<Sequence> ends;
  for (Step& step : steps) {
    ends.insert(step.to);
    const Interval* missing = step.to.valid() ? data.sums_only_in(step.from, step.to) : nullptr;
    if (missing != nullptr) step.sums = missing->id;
  }
  for (const Interval& interval : data.intervals) {
    const Span& span = interval.span;
    if (interval.kept != Kept::kNo || !interval.step || ends.contains(span.to_seq)) continue;
    steps.push_back({*interval.step,
                     span.from_seq,
                     span.to_seq,
                     span.from_ns,
                     span.to_ns,
                     {},
                     interval.id,
                     std::max<std::int64_t>(interval.steps, 1)});
  }
}

}  // namespace

std::vector<Step> steps_of(const TraceData& data) {
  std::vector<Step> steps;
  for (const Mark& mark : data.marks) {
    if (mark.kind != MarkKind::kStep) continue;
    const Span& span = mark.span;
    steps.push_back({mark.value.value_or(static_cast<std::int64_t>(steps.size()) + 1),
                     span.from_seq,
                     span.to_seq,
                     span.from_ns,
                     span.to_ns,
                     mark.id,
                     {}});
  }
  const auto earlier = [](const Step& a, const Step& b) { return a.from < b.from; };
  std::sort(steps.begin(), steps.end(), earlier);
  add_sums_only(data, steps);
  std::sort(steps.begin(), steps.end(), earlier);
  Sequence previous(1);
  TimeNs previous_ns(data.meta_integer(meta::kStartNs).value_or(0));
  for (Step& step : steps) {
    if (step.from == step.to) {
      step.from = previous;
      step.from_ns = previous_ns;
    }
    previous = step.to;
    previous_ns = step.to_ns;
  }
  return steps;
}

const Step* step_at(const std::vector<Step>& steps, Sequence at) {
  const auto found = std::partition_point(steps.begin(), steps.end(),
                                          [&](const Step& step) { return step.to.valid() && step.to <= at; });
  return found != steps.end() ? &*found : nullptr;
}

bool is_phase(const TraceData& data, const Mark* mark, std::string_view name) {
  return mark != nullptr && mark->kind == MarkKind::kPhase && data.text(mark->name) == name;
}

PhaseIndex::PhaseIndex(const TraceData& data) {
  struct Boundary {
    Sequence at;
    bool begin;
    const Mark* phase;
  };
  std::vector<Boundary> changes;
  for (const Mark& mark : data.marks) {
    if (mark.kind != MarkKind::kPhase || mark.span.to_seq == mark.span.from_seq) continue;
    changes.push_back({mark.span.from_seq, true, &mark});
    if (mark.span.ended()) changes.push_back({mark.span.to_seq, false, &mark});
  }
  std::sort(changes.begin(), changes.end(), [](const Boundary& a, const Boundary& b) { return a.at < b.at; });
  const auto begun_later = [](const Mark* a, const Mark* b) { return a->span.from_seq > b->span.from_seq; };
  std::set<const Mark*, decltype(begun_later)> open(begun_later);
  for (const Boundary& change : changes) {
    if (change.begin) {
      open.insert(change.phase);
    } else {
      open.erase(change.phase);
    }
    segments_.push_back({change.at, open.empty() ? nullptr : *open.begin()});
  }
}

const Mark* PhaseIndex::at(Sequence at) const {
  const auto after = std::upper_bound(segments_.begin(), segments_.end(), at,
                                      [](Sequence s, const Segment& segment) { return s < segment.from; });
  return after == segments_.begin() ? nullptr : std::prev(after)->phase;
}

const Operator* named_operator(const TraceData& data, OperatorId id) {
  const Operator* innermost = data.operators.find(id);
  const Operator* named = innermost;
  for (const Operator* op = innermost; op != nullptr; op = data.operators.find(op->parent)) {
    const std::string_view name = data.text(op->name);
    if (op->scope != OperatorScope::kFunction || name.starts_with("autograd::engine::")) break;
    // Operators are named library::name; compiled regions and dispatch modes around them are not.
    if (name.find("::") != std::string_view::npos) named = op;
  }
  return named;
}

TimeNs last_ns(const TraceData& data) { return TimeNs(data.meta_integer(meta::kEndNs).value_or(0)); }

Sequence last_sequence(const TraceData& data) {
  if (const std::optional<std::int64_t> last = data.meta_integer(meta::kLastSeq)) return Sequence(*last);
  Sequence last(1);
  for (const Block& block : data.blocks) last = std::max({last, block.span.from_seq, block.span.to_seq});
  for (const Mark& mark : data.marks) last = std::max({last, mark.span.from_seq, mark.span.to_seq});
  for (const Resize& resize : data.resizes) last = std::max(last, resize.seq);
  return last;
}

const Operator* last_operator(const TraceData& data) {
  const Operator* last = nullptr;
  for (const Operator& op : data.operators) {
    if (last == nullptr || end_of(op) > end_of(*last)) last = &op;
  }
  return last;
}

Sequence end_of(const Operator& op) { return op.span.ended() ? op.span.to_seq : op.span.from_seq; }

const OutOfMemory* out_of_memory_at(const TraceData& data, Sequence at) {
  const auto found = std::find_if(data.out_of_memory.begin(), data.out_of_memory.end(),
                                  [at](const OutOfMemory& oom) { return oom.seq == at; });
  return found != data.out_of_memory.end() ? &*found : nullptr;
}

/// The begin of the last block on any device. For a trace without blocks, its end.
Sequence last_allocation(const TraceData& data) {
  Sequence last;
  for (const Block& block : data.blocks) last = std::max(last, block.span.from_seq);
  return last.valid() ? last : last_sequence(data);
}

std::optional<Sequence> find_point(const TraceData& data, std::string_view name, Sequence peak) {
  const auto number = [](std::string_view text) -> std::optional<std::int64_t> {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return value;
  };
  if (name == "peak") return peak;
  if (name == "end") return last_sequence(data);
  if (name == "exit") return last_allocation(data);
  if (const auto sequence = number(name)) {
    if (*sequence < 1 || Sequence(*sequence) > last_sequence(data)) return std::nullopt;
    return Sequence(*sequence);
  }
  if (name.starts_with("step:")) {
    const auto wanted = number(name.substr(5));
    for (const Step& step : steps_of(data)) {
      if (wanted && step.number == *wanted) return step.to.valid() ? step.to : last_sequence(data);
    }
    return std::nullopt;
  }
  std::int64_t occurrence = 1;
  if (const std::size_t hash = name.rfind('#'); hash != std::string_view::npos) {
    if (const auto nth = number(name.substr(hash + 1))) {
      occurrence = *nth;
      name = name.substr(0, hash);
    }
  }
  if (name == "oom" && !data.out_of_memory.empty()) {
    const auto index = static_cast<std::size_t>(occurrence - 1);
    return index < data.out_of_memory.size() ? std::optional(data.out_of_memory[index].seq) : std::nullopt;
  }
  constexpr std::string_view kMark = "mark:";
  if (name.starts_with(kMark)) name.remove_prefix(kMark.size());
  for (const Mark& mark : data.marks) {
    if (data.text(mark.name) == name && --occurrence == 0) {
      return mark.span.ended() ? mark.span.to_seq : last_sequence(data);
    }
  }
  return std::nullopt;
}

}  // namespace dcmt::analyzer
