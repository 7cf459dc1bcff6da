// Operators, autograd nodes and user scopes, through torch's RecordFunction.
#pragma once

#include <span>

#include "collector/elf/elf_patch.h"

namespace dcmt::torch_provider {

/// Registers the callbacks.
void start_operator_events();
/// Takes them off, for as long as it is not started again. Waits for a thread that switches them, 100 ms at most.
void stop_operator_events();
/// Scopes that ended elsewhere are of an earlier recording.
void forget_operator_events() noexcept;

/// Puts the callbacks of all operators, and of their inputs, on or off as they are wanted now. Takes torch's lock of
/// callbacks and allocates when something changes: call where an operator may.
void switch_operator_events() noexcept;

/// Where programs open scopes of their own (`torch.profiler.record_function`); empty if this torch has no such
/// function, or if all operators are observed.
std::span<const elf::ImportPatch> user_scope_imports() noexcept;

/// Whether autograd's nodes count as operators of their threads while they run.
bool nodes_are_observed() noexcept;

/// Lives while a thread runs autograd's engine: what makes the phase, whether or not operators are observed.
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
