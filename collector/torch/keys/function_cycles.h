// Cycles of parameters that Python functions gather and release without an operator: eager ZeRO-3 re-points parameters,
// FSDP2 resizes the storages of its buffers. The table lists the functions (docs/operators.md).
#pragma once

#include <cstdint>

#include "collector/agent/provider.h"
#include "collector/torch/keys/release_keys.h"

namespace dcmt::torch_provider {

/// Surrounds a call that gives a tensor another storage, or a storage another size, and its recording. A function of
/// the table may gather or release a parameter by this call.
class CycleByFunction {
 public:
  struct Moved {
    const void* tensor;
  };
  struct Resized {
    const void* storage;
  };
  explicit CycleByFunction(Moved moved) noexcept;
  explicit CycleByFunction(Resized resized) noexcept;
  ~CycleByFunction();
  CycleByFunction(const CycleByFunction&) = delete;
  CycleByFunction& operator=(const CycleByFunction&) = delete;

 private:
  /// @param storage  identifies the key of a call without a number; else nullptr
  void begin(const agent::FunctionCall& call, const void* storage) noexcept;

  const void* const tensor_;   ///< re-pointed; else nullptr
  const void* const storage_;  ///< resized; else nullptr
  agent::FunctionCall call_;   ///< without a role: nothing to do
  KeyName released_{};         ///< key of a release
};

/// The first tensor of a storage was born, with this stack. Call it inside the guard, after the birth's record.
void born_in_function(const void* tensor, std::uint64_t stack) noexcept;

}  // namespace dcmt::torch_provider
