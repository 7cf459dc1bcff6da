// Boxed wrappers around the operators of the table, installed at the dispatcher.
#pragma once

namespace dcmt::torch_provider {

/// Loads the table and begins to listen for operators as they are registered. Once.
void start_wrapping();

/// True if a matching operator was registered and is not wrapped yet.
bool wrapping_wanted() noexcept;

/// Wraps what can be wrapped by now: operators of the table whose kernels are registered.
void wrap_registered_operators();

}  // namespace dcmt::torch_provider
