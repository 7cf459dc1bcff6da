// Derives phases and steps from the operators alone; the user's script needs no change.
//
// - optimizer: a user scope named "Optimizer.step#…".
// - backward: from the first autograd node (or its engine, which runs them) until the next top-level operator that is
//   not a node, on the backward's thread or the forward's; it ends at the end of its last node.
// - a backward inside an optimizer's step (in a closure) is a phase of its own inside the optimizer's phase: from the
//   begin of the first node on the optimizer's thread to the end of the last one. The engine's span counts as a node.
// - an allocation outside of all operators counts as an operator, because not every operator is observed.
// - forward: from a step's first operator until backward or optimizer begins. Operators after a backward are a forward
//   only if another backward follows (gradient clipping is none).
// - step: ends with the optimizer phase that follows a backward; another optimizer phase without a backward in between
//   extends it. From the first explicit step mark on, explicit marks replace all of this.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>

#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

enum class OpRole : std::uint8_t { kPlain, kNode, kOptimizer };

OpRole role_of(wire::OpScope scope, std::string_view name);

/// Thread-safety: none.
class Phases {
 public:
  explicit Phases(Journal& journal) : journal_(journal) {}

  /// Call it first, with or without a resume.
  Status start();
  /// Loads the state that visit() does not have.
  void resume();

  /// The first record of the process: the first step begins.
  void first_record();
  /// @param op  row id of the operator  @param depth  running operators on the thread outside of it
  Status op_begin(OpRole role, RowId op, std::size_t depth);
  Status op_end(OpRole role, RowId op);
  /// A tensor, a storage or a block began while no operator was running on the thread.
  Status memory_allocated() { return op_begin(OpRole::kPlain, 0, 0); }
  /// The current step ends and has this number.
  Status explicit_step(std::int64_t number, RowId name, RowId stack, RowId op);
  /// An explicit span of kind step began: automatic steps are turned off.
  Status explicit_steps_only();

  /// Writes the current phase's row if it was not written yet.
  Status commit();
  /// Ends a backward phase whose nodes have all ended.
  Status finish();

  [[nodiscard]] std::int64_t steps() const { return steps_; }
  /// True if `at` is in the current step, or at most half a step ago.
  [[nodiscard]] bool is_recent(const Point& at) const {
    return at.seq >= step_begin_.seq || journal_.now.ns - at.ns <= step_length_ns_ / 2;
  }
  /// True if the thread ran a backward.
  [[nodiscard]] bool runs_backwards(std::uint32_t thread) const { return backward_threads_.contains(thread); }

  /// Calls `visit(name, value)` for every member, to save or load it.
  template <class Visit>
  void visit(Visit&& visit) {
    visit("phase.kind", phase_);
    visit("phase.row", phase_row_);
    visit("phase.from_seq", phase_from_.seq);
    visit("phase.from_ns", phase_from_.ns);
    visit("phase.thread", phase_thread_);
    visit("phase.forward_thread", forward_thread_);
    visit("phase.optimizer", optimizer_);
    visit("phase.nodes", nodes_);
    visit("phase.inner_row", inner_row_);
    visit("phase.inner_seq", inner_from_.seq);
    visit("phase.inner_ns", inner_from_.ns);
    visit("phase.node_end_seq", node_end_.seq);
    visit("phase.node_end_ns", node_end_.ns);
    visit("phase.later_seq", later_forward_.seq);
    visit("phase.later_ns", later_forward_.ns);
    visit("phase.fresh", fresh_step_);
    visit("step.first_seq", first_.seq);
    visit("step.first_ns", first_.ns);
    visit("step.begin_seq", step_begin_.seq);
    visit("step.begin_ns", step_begin_.ns);
    visit("step.before_seq", last_step_from_.seq);
    visit("step.before_ns", last_step_from_.ns);
    visit("step.last_row", last_step_row_);
    visit("step.length", step_length_ns_);
    visit("step.number", next_step_);
    visit("step.count", steps_);
    visit("step.explicit", explicit_);
    visit("step.backward", backward_seen_);
  }

 private:
  enum Kind : std::int64_t { kNone, kForward, kBackward, kOptimizer };

  void begin_step();
  void open(Kind kind, const Point& from, std::int64_t thread);
  Status close(const Point& to);
  Status close_running();
  Status write_phase(const Point& to);
  Status write_phase(RowId id, std::int64_t kind, const Point& from, const Point& to);
  Status close_inner();
  Status optimizer_ended();
  Status write_step(RowId row, std::int64_t number, const Point& from);

  Journal& journal_;
  RowId names_[4] = {};  ///< strings by Kind

  std::int64_t phase_ = kNone;
  RowId phase_row_ = 0;
  Point phase_from_;
  std::int64_t phase_thread_ = 0;
  std::int64_t forward_thread_ = -1;
  RowId optimizer_ = 0;     ///< operator row of the current optimizer phase
  std::int64_t nodes_ = 0;  ///< running autograd nodes of the current backward
  RowId inner_row_ = 0;     ///< row of a running backward inside the optimizer phase
  Point inner_from_;
  Point node_end_;       ///< end of the last node
  Point later_forward_;  ///< begin of a forward, if a backward follows
  std::int64_t fresh_step_ = 1;
  bool stored_ = false;        ///< the current phase's row is in the trace
  bool inner_stored_ = false;  ///< the row of the backward inside it is in the trace

  Point first_;
  Point step_begin_;
  std::int64_t step_length_ns_ = 0;  ///< of the step before the current one
  std::set<std::uint32_t> backward_threads_;
  Point last_step_from_;
  RowId last_step_row_ = 0;  ///< of the last automatic step
  std::int64_t next_step_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t explicit_ = 0;
  std::int64_t backward_seen_ = 0;
};

}  // namespace dcmt::recorder
