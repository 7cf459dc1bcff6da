// Ids of Python stacks.
#pragma once

#include <cstdint>

#include "collector/agent/provider.h"

namespace dcmt::python_provider {

/// Implements PythonProvider::capture_stack. Budget: 150 ns for 30 frames that are in the cache.
std::uint64_t capture_stack(std::uint64_t* module) noexcept;

/// Implements PythonProvider::describe_stack.
std::uint64_t describe_stack(const agent::PythonPlace* places, std::uint32_t count, bool more) noexcept;

/// Implements PythonProvider::runs_at.
bool runs_at(const agent::PythonLine* lines, std::uint32_t count) noexcept;

/// Implements PythonProvider::innermost_frame.
const void* innermost_frame() noexcept;

}  // namespace dcmt::python_provider
