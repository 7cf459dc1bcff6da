// The running Python functions of the table that gather or release parameters.
#pragma once

#include "collector/agent/provider.h"

namespace dcmt::python_provider {

/// Implements PythonProvider::function_here.
agent::FunctionCall function_here(agent::FunctionEvent event, const void* object) noexcept;

}  // namespace dcmt::python_provider
