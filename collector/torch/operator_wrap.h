// Boxed wrappers around the operators of the table, installed at the dispatcher.
#pragma once

namespace dcmt::torch_provider {

/// Loads the table and begins to listen for operators as they are registered. Takes the dispatcher's lock. Before the
/// gate opens, calls of operators with symbolic integers may be under way, and these are not wrapped (docs/adr/0021).
void start_wrapping();
/// Stops listening, and puts the kernels back.
void stop_wrapping();

/// True if an operator of the table was registered whose kernels are not all wrapped yet.
bool wrapping_wanted() noexcept;

/// True if that is so, and this is a moment to look for them. `op` is the operator that begins.
bool wrapping_due(const char* op) noexcept;

/// Wraps what can be wrapped by now: operators of the table whose kernels are registered.
void wrap_registered_operators();

}  // namespace dcmt::torch_provider
