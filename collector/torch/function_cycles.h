// The cycles of parameters that Python functions gather and release without an operator of their own: eager ZeRO-3
// re-points parameters, FSDP2 resizes the storages of its buffers. The table says which functions (docs/operators.md).
#pragma once

#include <cstdint>

#include "collector/agent/provider.h"
#include "collector/torch/release_keys.h"

namespace dcmt::torch_provider {

/// Lives around a call that gives a tensor another storage, or a storage another size, outside of whatever records
/// that: a function of the table may gather or release a parameter by it.
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
  /// @param storage  tells the key of a call without a number, else nullptr
  void begin(const agent::FunctionCall& call, const void* storage) noexcept;

  const void* const tensor_;   ///< moved; else nullptr
  const void* const storage_;  ///< resized; else nullptr
  agent::FunctionCall call_;   ///< without a role: nothing is to be done
  KeyName released_{};         ///< of a release
};

/// A storage's first tensor was born, with that stack. Call inside the guard, after the birth's record.
void born_in_function(const void* tensor, std::uint64_t stack) noexcept;

}  // namespace dcmt::torch_provider
