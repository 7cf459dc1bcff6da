// Observes operators, autograd nodes and user scopes through torch's RecordFunction.
#pragma once

#include <span>

#include "collector/elf/elf_patch.h"

namespace dcmt::torch_provider {

/// Registers the callbacks.
void start_operator_events();
/// Removes the callbacks until the next start. Waits at most 100 ms for a thread that switches them.
void stop_operator_events();
/// Forgets scopes that ended on another thread; they belong to an earlier recording.
void forget_operator_events() noexcept;

/// Turns the callbacks of all operators and of their inputs on or off, as currently needed. If something changes, it
/// acquires torch's lock of callbacks and allocates: call it only where an operator may do that.
void switch_operator_events() noexcept;

/// The imports through which programs open scopes (`torch.profiler.record_function`). Empty if this torch has no such
/// function, or if all operators are observed.
std::span<const elf::ImportPatch> user_scope_imports() noexcept;

/// True if a running autograd node counts as an operator of its thread.
bool nodes_are_observed() noexcept;

/// Lives while a thread runs autograd's engine. It makes the backward phase, whether or not operators are observed.
class BackwardSpan {
 public:
  BackwardSpan() noexcept;
  ~BackwardSpan();
  BackwardSpan(const BackwardSpan&) = delete;
  BackwardSpan& operator=(const BackwardSpan&) = delete;

 private:
  bool begun_ = false;
};

}  // namespace dcmt::torch_provider
