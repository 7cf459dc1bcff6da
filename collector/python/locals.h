// Finds Python variables that refer to an object.
#pragma once

#include <cstdint>

#include "collector/agent/provider.h"

namespace dcmt::python_provider {

/// Implements PythonProvider::visit_locals.
agent::LocalsReach visit_locals(std::uint64_t census, const std::uint64_t* objects, std::uint32_t count,
                                bool other_threads) noexcept;

/// Implements PythonProvider::prepare_visit.
void prepare_visit() noexcept;

}  // namespace dcmt::python_provider
