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

/// The imports through which programs open scopes (`torch.profiler.record_function`). Empty if this torch has no such
/// function, or if all operators are observed.
std::span<const elf::ImportPatch> user_scope_imports() noexcept;

}  // namespace dcmt::torch_provider
