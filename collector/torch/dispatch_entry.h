// The kernel of an operator in torch's dispatcher, replaced word by word while other threads call it (docs/adr/0021).
// Includes torch, and is compiled without access control: the words are private, and the compiler knows where they lie
// in the torch in use.
#pragma once

#include <ATen/core/boxing/BoxedKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <vector>

namespace dcmt::torch_provider {

/// A kernel that takes its arguments on a stack. `functor` is the kernel's own, whoever is called with it.
using BoxedFunction = void(c10::OperatorKernel* functor, const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                           torch::jit::Stack* stack);

/// The lock under which torch registers kernels. With it owned, nobody else writes into the tables.
class DispatcherLock {
 public:
  /// Tries for at most 100 ms: another thread may be at work under it for long.
  DispatcherLock() noexcept;
  ~DispatcherLock();
  DispatcherLock(const DispatcherLock&) = delete;
  DispatcherLock& operator=(const DispatcherLock&) = delete;
  const bool owned;
};

/// Tells operators apart. It stays as long as the operator is registered.
const void* identity_of(const c10::OperatorHandle& op) noexcept;
/// Whether torch calls the callbacks of RecordFunction for it.
bool is_observed(const c10::OperatorHandle& op) noexcept;

/// The words of a kernel before its boxed function was replaced.
struct KernelWords {
  BoxedFunction* boxed = nullptr;
  void* unboxed = nullptr;
  void* symbolic = nullptr;
};

/// The kernel that serves a runtime key of an operator, wherever torch keeps it: as it was registered, and in each
/// entry of the operator's table that was computed from that. So a table that torch computes anew has the replaced
/// kernel again, and torch's own comparison of the two holds. Call all of it with a DispatcherLock.
class DispatchedKernel {
 public:
  DispatchedKernel() = default;
  /// Empty if the operator has no kernel for that key, or only one that is decomposed into other operators: a backend
  /// kernel of ours in front of such a one would take autograd and vmap away from it.
  DispatchedKernel(const c10::OperatorHandle& op, c10::DispatchKey key);

  [[nodiscard]] bool empty() const noexcept { return places_.empty(); }
  /// Whether calls by a C++ signature go past the boxed function.
  [[nodiscard]] bool has_unboxed() const noexcept;
  [[nodiscard]] BoxedFunction* boxed() const noexcept;
  /// What libtorch itself says of the kernel is what is read here.
  [[nodiscard]] bool is_what_torch_says(const c10::OperatorHandle& op, c10::DispatchKey key) const;

  /// Puts `ours` in front: it is called with the functor of the kernel that stands there, and calls boxed() as it was
  /// before. Every mix of old and new words is valid for a caller, but one: a caller with symbolic integers among its
  /// arguments tests an unboxed word and reads it again, so with has_unboxed() it must not be inside its call.
  /// False if the kernel changed meanwhile.
  bool replace(BoxedFunction* ours) noexcept;
  /// What replace() found.
  [[nodiscard]] const KernelWords& before() const noexcept { return before_; }
  /// Puts that back, word by word, where nobody else has written since.
  void restore(BoxedFunction* ours, const KernelWords& before) noexcept;

  /// Where the table has the boxed function of the key. It stays there as long as the operator is registered.
  [[nodiscard]] BoxedFunction* const* place() const noexcept;

 private:
  std::vector<c10::KernelFunction*> places_;  ///< first the entry of the key, last the kernel as it was registered
  KernelWords before_;
};

}  // namespace dcmt::torch_provider
