// Which Python variables name an object.
#pragma once

#include <cstdint>

#include "collector/agent/provider.h"

namespace dcmt::python_provider {

/// PythonProvider::visit_locals.
agent::LocalsReach visit_locals(std::uint64_t census, const std::uint64_t* objects, std::uint32_t count,
                                bool other_threads) noexcept;

}  // namespace dcmt::python_provider
