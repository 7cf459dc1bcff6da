#include "collector/recorder/assemble/phases.h"

#include <utility>

namespace dcmt::recorder {

OpRole role_of(wire::OpScope scope, std::string_view name) {
  switch (scope) {
    case wire::OpScope::kBackward:
      return OpRole::kNode;
    case wire::OpScope::kUser:
      return name.starts_with("Optimizer.step#") ? OpRole::kOptimizer : OpRole::kPlain;
    case wire::OpScope::kFunction:
      break;
  }
  return name.starts_with("autograd::engine::evaluate_function") ? OpRole::kNode : OpRole::kPlain;
}

Status Phases::start() {
  for (const auto& [kind, text] :
       {std::pair{kForward, "forward"}, {kBackward, "backward"}, {kOptimizer, "optimizer"}}) {
    DCMT_ASSIGN_OR_RETURN(RowId name, journal_.writer.intern(text));
    names_[kind] = name;
  }
  return {};
}

void Phases::resume() {
  if (phase_ < kNone || phase_ > kOptimizer) phase_ = kNone;
  if (phase_ != kOptimizer) inner_row_ = 0;
  stored_ = phase_ != kNone;  // the commit before the resume wrote it
  inner_stored_ = inner_row_ != 0;
}

void Phases::first_record() { first_ = step_begin_ = journal_.now; }

void Phases::open(Kind kind, const Point& from, std::int64_t thread) {
  phase_ = kind;
  phase_row_ = journal_.ids.mark++;
  phase_from_ = from;
  phase_thread_ = thread;
  stored_ = false;
  nodes_ = 0;
  if (kind == kForward) forward_thread_ = thread;
  later_forward_ = {};
}

Status Phases::write_phase(RowId id, std::int64_t kind, const Point& from, const Point& to) {
  MarkRow row;
  row.id = id;
  row.kind = "phase";
  row.name = names_[kind];
  row.thread = phase_thread_;
  row.span = {from, to};
  return to.set() ? journal_.rows.write(row) : journal_.rows.write_open(row);
}

Status Phases::write_phase(const Point& to) { return write_phase(phase_row_, phase_, phase_from_, to); }

Status Phases::close_inner() {
  if (inner_row_ == 0) return {};
  DCMT_RETURN_IF_ERROR(write_phase(inner_row_, kBackward, inner_from_, journal_.now));
  inner_row_ = 0;
  nodes_ = 0;
  return {};
}

Status Phases::close(const Point& to) {
  if (phase_ == kNone) return {};
  DCMT_RETURN_IF_ERROR(close_inner());
  DCMT_RETURN_IF_ERROR(write_phase(to));
  phase_ = kNone;
  phase_row_ = 0;
  return {};
}

Status Phases::close_running() { return close(phase_ == kBackward && nodes_ == 0 ? node_end_ : journal_.now); }

Status Phases::op_begin(OpRole role, RowId op, std::size_t depth) {
  const std::int64_t thread = journal_.thread;
  switch (role) {
    case OpRole::kOptimizer:
      if (phase_ == kOptimizer) return {};  // an optimizer inside another one
      DCMT_RETURN_IF_ERROR(close_running());
      open(kOptimizer, journal_.now, thread);
      optimizer_ = op;
      return {};
    case OpRole::kNode:
      backward_seen_ = 1;
      if (phase_ == kOptimizer) {
        if (thread != phase_thread_) return {};
        if (inner_row_ == 0) {
          inner_row_ = journal_.ids.mark++;
          inner_from_ = journal_.now;
          inner_stored_ = false;
        }
        ++nodes_;
        return {};
      }
      if (phase_ != kBackward) {
        if (phase_ == kNone && later_forward_.set()) open(kForward, later_forward_, forward_thread_);
        DCMT_RETURN_IF_ERROR(close_running());
        open(kBackward, journal_.now, thread);
      }
      backward_threads_.insert(journal_.thread);
      ++nodes_;
      return {};
    case OpRole::kPlain:
      break;
  }
  if (depth != 0) return {};
  if (phase_ == kBackward && nodes_ == 0 && (thread == phase_thread_ || thread == forward_thread_)) {
    DCMT_RETURN_IF_ERROR(close_running());
  }
  if (phase_ != kNone) return {};
  if (fresh_step_ != 0) {
    open(kForward, journal_.now, thread);
    fresh_step_ = 0;
  } else if (!later_forward_.set()) {
    later_forward_ = journal_.now;
    forward_thread_ = thread;
  }
  return {};
}

Status Phases::op_end(OpRole role, RowId op) {
  if (role == OpRole::kNode && phase_ == kBackward) {
    if (nodes_ > 0) --nodes_;
    node_end_ = journal_.now;
  } else if (role == OpRole::kNode && inner_row_ != 0 && journal_.thread == phase_thread_) {
    if (--nodes_ <= 0) return close_inner();
  } else if (role == OpRole::kOptimizer && phase_ == kOptimizer && op == optimizer_) {
    DCMT_RETURN_IF_ERROR(close(journal_.now));
    return optimizer_ended();
  }
  return {};
}

void Phases::begin_step() {
  step_length_ns_ = journal_.now.ns - step_begin_.ns;
  step_begin_ = journal_.now;
  fresh_step_ = 1;
  later_forward_ = {};
}

Status Phases::optimizer_ended() {
  const bool followed_backward = backward_seen_ != 0;
  backward_seen_ = 0;
  if (explicit_ != 0) return {};
  if (followed_backward) {
    last_step_row_ = journal_.ids.mark++;
    last_step_from_ = step_begin_;
    DCMT_RETURN_IF_ERROR(write_step(last_step_row_, next_step_, step_begin_));
    ++next_step_;
    ++steps_;
  } else if (last_step_row_ != 0) {
    DCMT_RETURN_IF_ERROR(write_step(last_step_row_, next_step_ - 1, last_step_from_));
  } else {
    return {};
  }
  begin_step();
  // Memory of another optimizer in the same step counts for the interval of the next step.
  return followed_backward ? journal_.rows.end_interval(next_step_ - 1, journal_.now) : Status{};
}

Status Phases::write_step(RowId id, std::int64_t number, const Point& from) {
  MarkRow row;
  row.id = id;
  row.kind = "step";
  row.thread = journal_.thread;
  row.value = number;
  row.span = {from, journal_.now};
  return journal_.rows.write(row);
}

Status Phases::explicit_steps_only() {
  if (explicit_ != 0) return {};
  if (steps_ > 0) DCMT_RETURN_IF_ERROR(journal_.rows.forget_steps());
  last_step_row_ = 0;
  explicit_ = 1;
  steps_ = 0;
  step_begin_ = first_;
  return {};
}

Status Phases::explicit_step(std::int64_t number, RowId name, RowId stack, RowId op) {
  DCMT_RETURN_IF_ERROR(explicit_steps_only());
  if (phase_ == kForward || (phase_ == kBackward && nodes_ == 0)) DCMT_RETURN_IF_ERROR(close_running());
  MarkRow row;
  row.id = journal_.ids.mark++;
  row.kind = "step";
  row.name = name;
  row.thread = journal_.thread;
  row.value = number;
  row.operator_id = op;
  row.stack = stack;
  row.span = {step_begin_, journal_.now};
  DCMT_RETURN_IF_ERROR(journal_.rows.write(row));
  ++steps_;
  begin_step();
  return journal_.rows.end_interval(number, journal_.now);
}

Status Phases::commit() {
  if (phase_ != kNone && !stored_) {
    DCMT_RETURN_IF_ERROR(write_phase({}));
    stored_ = true;
  }
  if (inner_row_ == 0 || inner_stored_) return {};
  inner_stored_ = true;
  return write_phase(inner_row_, kBackward, inner_from_, {});
}

Status Phases::finish() {
  if (phase_ == kBackward && nodes_ == 0) return close_running();
  return {};
}

}  // namespace dcmt::recorder
