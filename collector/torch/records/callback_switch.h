// Turns torch's callbacks of operators on and off.
//
// Torch uses a slower path through every operator while a callback is on, and it boxes the inputs while a callback
// needs them (docs/decisions/detail.md). So the callback of operators is on only while all operators are needed, and
// the callback of their inputs only while a released storage is alive.
#pragma once

#include <cstdint>

namespace at {
class RecordFunctionCallback;
}

namespace dcmt::torch_provider {

/// Makes a callback of torch. May throw.
using MakeCallback = at::RecordFunctionCallback (*)();

/// From here on, switch_callbacks() may add the callbacks: `operators` for all operators, `inputs` for their inputs.
void allow_callbacks(MakeCallback operators, MakeCallback inputs);
/// Removes the callbacks until they are allowed again. Waits at most 100 ms for a thread that switches them.
void forbid_callbacks();

/// Why all operators are needed below detail `operators`.
enum class OperatorNeed : std::uint32_t {
  kKeys = 1,      ///< something has been gathered: a release is settled at the next operator
  kCounts = 4,    ///< reference counts are read there
  kWrapping = 2,  ///< a registered operator of the table has kernels that are not wrapped yet
};
/// The callback is added or removed by the next switch_callbacks().
void set_operator_need(OperatorNeed need, bool present) noexcept;
bool has_operator_need(OperatorNeed need) noexcept;

/// Turns the callbacks on or off, as currently needed. If something changes, it acquires torch's lock of callbacks and
/// allocates: call it only where an operator may do that.
void switch_callbacks() noexcept;

/// True if a running autograd node counts as an operator of its thread.
bool nodes_are_observed() noexcept;

}  // namespace dcmt::torch_provider
