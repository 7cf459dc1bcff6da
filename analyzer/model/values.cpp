#include "analyzer/model/values.h"

namespace dcmt::model {

std::optional<std::int64_t> number_of(const analyzer::Step* step) {
  return step != nullptr ? std::optional(step->number) : std::nullopt;
}

RunPoint begin_of(const analyzer::Span& span) { return {span.from_seq, span.from_ns}; }

std::optional<RunPoint> point_of(Sequence seq, TimeNs ns) {
  return seq.valid() ? std::optional(RunPoint{seq, ns}) : std::nullopt;
}

std::optional<RunPoint> end_of(const analyzer::Span& span) { return point_of(span.to_seq, span.to_ns); }

Actor actor_of(const TraceData& data, const analyzer::Actor& actor) {
  Actor result;
  if (actor.thread != analyzer::kNoThread) result.thread = actor.thread;
  if (const analyzer::Operator* op = data.operators.find(actor.op)) result.innermost_operator = data.text(op->name);
  if (const auto* named = analyzer::named_operator(data, actor.op)) result.outer_operator = data.text(named->name);
  result.site = analyzer::describe_site(data, actor.stack);
  result.stack = analyzer::frames_of(data, actor.stack);
  return result;
}

Mark mark_of(const TraceData& data, const analyzer::Mark& mark) {
  return {mark.id,       text_of(data, mark.name), begin_of(mark.span), actor_of(data, mark.by), mark.cycle,
          mark.declared, mark.remaining,           mark.bytes};
}

std::optional<Mark> mark_of(const TraceData& data, const analyzer::Mark* mark) {
  return mark != nullptr ? std::optional(mark_of(data, *mark)) : std::nullopt;
}

Read read_of(const TraceData& data, const analyzer::Mark& mark) {
  Read read{mark_of(data, mark), mark.flags.kernel, mark.ordinal, std::nullopt};
  const analyzer::Operator* op = data.operators.find(mark.by.op);
  while (op != nullptr && op->scope != analyzer::OperatorScope::kBackward) op = data.operators.find(op->parent);
  if (op != nullptr) read.backward = data.text(op->name);
  return read;
}

std::vector<Read> reads_of(const TraceData& data, std::span<const analyzer::Mark* const> marks) {
  std::vector<Read> reads;
  for (const analyzer::Mark* mark : marks) reads.push_back(read_of(data, *mark));
  return reads;
}

}  // namespace dcmt::model
