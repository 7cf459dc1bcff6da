// Interprets a call of a wrapped operator: it is a gather, wait, persist or release of a key, and some of its outputs
// alias its arguments.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "collector/torch/facts/layout.h"
#include "collector/torch/keys/release_keys.h"
#include "collector/torch/operators/dispatch_entry.h"
#include "collector/torch/operators/operator_table.h"

namespace dcmt::torch_provider {

/// Observes which outputs of an operator share storages with which arguments, in addition to its schema.
class AliasWatch {
 public:
  using Storages = std::array<const void*, 8>;

  explicit AliasWatch(const c10::FunctionSchema& schema);

  /// Only addresses: the arguments stay on the stack until the results are there, so no address is reused.
  Storages arguments(const torch::jit::Stack& stack, std::size_t base) const noexcept;

  void inspect(const Storages& arguments, const torch::jit::Stack& stack) noexcept;

 private:
  static constexpr std::uint64_t bit(std::size_t output, std::size_t argument) {
    return std::uint64_t{1} << (8 * output + argument);
  }
  static const void* storage_at(const c10::IValue& value) noexcept;

  const std::string name_, schema_;
  const std::size_t returns_;
  std::uint64_t declared_ = 0;
  std::atomic<std::uint64_t> last_{~std::uint64_t{0}};  ///< result of the call before
  std::atomic<int> left_{16};                           ///< records that may still be written
};

/// An operator of the table, or of the program. It lives for ever, because calls may be inside it until the process
/// ends. Thread-safety: any thread may call it at any time.
class OperatorCalls {
 public:
  OperatorCalls(const OperatorRow& row, const c10::FunctionSchema& schema);

  /// Calls the kernel behind the hook and records the call. Exceptions of the kernel pass through.
  void call(BoxedFunction* real, c10::OperatorKernel* functor, const c10::OperatorHandle& op, c10::DispatchKeySet keys,
            torch::jit::Stack* stack);

 private:
  /// The positions of a cycle's arguments; -1: the operator has no such argument.
  struct ArgumentPlaces {
    int graph = -1;
    int key = -1;
    int count = -1;
    int tensor = -1;
  };

  void inspect_aliases(const AliasWatch::Storages& arguments, const torch::jit::Stack& stack) noexcept;
  void enter(KeyName key, std::int32_t declared) const noexcept;
  void leave(KeyName key, std::int32_t declared, const void* tensor, std::uint32_t flags) const noexcept;
  [[nodiscard]] std::uint64_t name_id() const noexcept;

  const OperatorRow& row_;
  const ArgumentPlaces places_;
  const std::string name_;
  AliasWatch aliases_;
};

}  // namespace dcmt::torch_provider
