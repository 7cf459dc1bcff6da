// Python functions that gather or release parameters without an operator of their own: they move a parameter to other
// memory, or give a storage another size. Which they are says the table (docs/operators.md).
#pragma once

#include <Python.h>

#include <cstdint>

#include "collector/agent/provider.h"

namespace dcmt::python_provider {

/// Reads the rows of functions from the table that the environment names. Called once.
void load_functions() noexcept;

/// The row of a code object, from 1; 0: it has none. No GIL needed while the object lives.
std::uint32_t function_row(const PyCodeObject* code) noexcept;

/// PythonProvider::function_here.
agent::FunctionCall function_here(agent::FunctionEvent event, const void* object) noexcept;

/// PythonProvider::births_by_functions.
bool births_by_functions() noexcept;

}  // namespace dcmt::python_provider
