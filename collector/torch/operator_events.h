// Operators, autograd nodes and user scopes, through torch's RecordFunction.
#pragma once

namespace dcmt::torch_provider {

/// Registers the callbacks. Once.
void start_operator_events();

}  // namespace dcmt::torch_provider
