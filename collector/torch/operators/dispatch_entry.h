// Replaces an operator's kernel in torch's dispatcher, word by word, while other threads call it
// (docs/decisions/hooks.md). Includes torch's headers, and is compiled without access control: the words are private,
// and their places are those of the torch in use.
#pragma once

#include <ATen/core/boxing/BoxedKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <vector>

namespace dcmt::torch_provider {

/// A kernel with its arguments on a stack. `functor` belongs to the kernel, no matter which function is called with it.
using BoxedFunction = void(c10::OperatorKernel* functor, const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                           torch::jit::Stack* stack);

/// The lock under which torch registers kernels. While it is owned, no other thread writes to the tables.
class DispatcherLock {
 public:
  /// Tries for at most 100 ms, because another thread may hold the lock for long.
  DispatcherLock() noexcept;
  ~DispatcherLock();
  DispatcherLock(const DispatcherLock&) = delete;
  DispatcherLock& operator=(const DispatcherLock&) = delete;
  const bool owned;
};

/// Identifies an operator. The value is valid as long as the operator is registered.
const void* identity_of(const c10::OperatorHandle& op) noexcept;
/// True if torch calls the callbacks of RecordFunction for it.
bool is_observed(const c10::OperatorHandle& op) noexcept;

/// The words of a kernel before its boxed function was replaced.
struct KernelWords {
  BoxedFunction* boxed = nullptr;
  void* unboxed = nullptr;
  void* symbolic = nullptr;
};

/// The kernel for a runtime key of an operator, at all places where torch keeps it: the registered kernel, and each
/// entry of the operator's table that was computed from it. So a table that torch computes again has the replaced
/// kernel, too, and torch's own comparison of the two succeeds. Call all functions with a DispatcherLock.
class DispatchedKernel {
 public:
  DispatchedKernel() = default;
  /// Empty if the operator has no kernel for that key, or only one that is composed of other operators: a backend
  /// kernel of ours in front of such a kernel would disable autograd and vmap for it.
  DispatchedKernel(const c10::OperatorHandle& op, c10::DispatchKey key);

  [[nodiscard]] bool empty() const noexcept { return places_.empty(); }
  /// True if calls by a C++ signature bypass the boxed function.
  [[nodiscard]] bool has_unboxed() const noexcept;
  [[nodiscard]] BoxedFunction* boxed() const noexcept;
  /// True if torch's own functions report the same kernel as the words.
  [[nodiscard]] bool is_what_torch_says(const c10::OperatorHandle& op, c10::DispatchKey key) const;

  /// Puts `ours` in front of the kernel: it is called with the kernel's functor, and calls the earlier boxed(). A
  /// caller may see every mix of old and new words, with one exception. A caller with symbolic integers among its
  /// arguments tests an unboxed word and reads it again; so if has_unboxed(), no caller may be inside its call. False
  /// if the kernel changed meanwhile.
  bool replace(BoxedFunction* ours) noexcept;
  /// The words that replace() found.
  [[nodiscard]] const KernelWords& before() const noexcept { return before_; }
  /// Restores these words one by one, unless another writer has changed them since.
  void restore(BoxedFunction* ours, const KernelWords& before) noexcept;

  /// The place of the key's boxed function in the table. It is valid as long as the operator is registered.
  [[nodiscard]] BoxedFunction* const* place() const noexcept;

 private:
  std::vector<c10::KernelFunction*> places_;  ///< first the entry of the key, last the registered kernel
  KernelWords before_;
};

}  // namespace dcmt::torch_provider
