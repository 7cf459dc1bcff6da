// Python functions that gather or release parameters without an operator: they move a parameter to other memory, or
// resize a storage. The table lists them (docs/operators.md).
#pragma once

#include <Python.h>

#include <cstdint>

#include "collector/agent/provider.h"

namespace dcmt::python_provider {

/// Reads the functions from the table that the environment names. Call it once.
void load_functions() noexcept;

/// The row of a code object, from 1; 0: none. Does not need the GIL while the object lives.
std::uint32_t function_row(const PyCodeObject* code) noexcept;

/// Implements PythonProvider::function_here.
agent::FunctionCall function_here(agent::FunctionEvent event, const void* object) noexcept;

/// Implements PythonProvider::births_by_functions.
bool births_by_functions() noexcept;

}  // namespace dcmt::python_provider
