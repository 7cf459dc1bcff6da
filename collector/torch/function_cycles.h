// The cycles of parameters that Python functions gather and release without an operator of their own: eager ZeRO-3
// re-points parameters, FSDP2 resizes the storages of its buffers. The table says which functions (docs/operators.md).
#pragma once

#include <cstdint>

#include "collector/agent/provider.h"

namespace dcmt::torch_provider {

/// Lives around a call that gives a tensor another storage, outside of whatever records that.
class MovedByFunction {
 public:
  explicit MovedByFunction(const void* tensor) noexcept;
  ~MovedByFunction();
  MovedByFunction(const MovedByFunction&) = delete;
  MovedByFunction& operator=(const MovedByFunction&) = delete;

 private:
  const void* const tensor_;
  agent::FunctionCall call_;
};

/// Lives around a call that gives a storage another size, outside of whatever records that.
class ResizedByFunction {
 public:
  explicit ResizedByFunction(const void* storage) noexcept;
  ~ResizedByFunction();
  ResizedByFunction(const ResizedByFunction&) = delete;
  ResizedByFunction& operator=(const ResizedByFunction&) = delete;

 private:
  const void* const storage_;
  agent::FunctionCall call_;
};

/// A storage's first tensor was born, with that stack. Call inside the guard, after the birth's record.
void born_in_function(const void* tensor, std::uint64_t stack) noexcept;

}  // namespace dcmt::torch_provider
