// The table of Python functions that gather or release parameters without an operator: they move a parameter to other
// memory, or resize a storage (docs/operators.md).
#pragma once

#include <Python.h>

#include <cstdint>

#include "collector/agent/provider.h"

namespace dcmt::python_provider {

/// A row of the table; its texts live for ever. Attributes: empty if there is none.
struct FunctionRow {
  const char* file;      ///< end of the file's path
  const char* function;  ///< qualified name
  agent::FunctionRole role;
  agent::FunctionEvent event;
  std::int64_t graph;
  const char* mechanism;
  const char* key;      ///< attribute of the tensor: the parameter's number
  const char* persist;  ///< attribute of the tensor: true if it is kept permanently
  const char* owner;    ///< the function's variable ...
  const char* name;     ///< ... and its attribute that is the parameter's name
};

/// Reads the table that the environment names. Call it once.
void load_functions() noexcept;

/// False if the table has no row.
bool has_functions() noexcept;

/// The number of a code object's row, from 1; 0: none. Does not need the GIL while the object lives.
std::uint32_t function_row(const PyCodeObject* code) noexcept;

/// A row by its number, which must not be 0.
const FunctionRow& row_of(std::uint32_t number) noexcept;

/// Implements PythonProvider::births_by_functions.
bool births_by_functions() noexcept;

}  // namespace dcmt::python_provider
