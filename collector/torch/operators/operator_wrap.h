// Boxed wrappers around the operators of the table, installed at the dispatcher.
#pragma once

namespace dcmt::torch_provider {

/// Loads the table and listens for registrations of operators. Acquires the dispatcher's lock. Before the gate opens,
/// calls of operators with symbolic integers may be running, so these are not wrapped (docs/decisions/hooks.md).
void start_wrapping();
/// Stops listening, and restores the kernels.
void stop_wrapping();

/// True if a registered operator of the table has kernels that are not wrapped yet, and it is time to check again. `op`
/// is the operator that begins.
bool wrapping_due(const char* op) noexcept;

/// Wraps the registered kernels of operators in the table.
void wrap_registered_operators();

}  // namespace dcmt::torch_provider
