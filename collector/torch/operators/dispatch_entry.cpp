#include "collector/torch/operators/dispatch_entry.h"

#include <time.h>

#include <cstddef>
#include <mutex>
#include <type_traits>

namespace dcmt::torch_provider {
namespace {

static_assert(std::is_same_v<BoxedFunction, c10::BoxedKernel::InternalBoxedKernelFunction>);

/// The words of a live kernel. They are plain members of torch: aligned, and other threads write them as whole words.
template <class Word>
Word read(const Word& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
template <class Word>
bool change(Word& word, Word from, Word to) noexcept {
  return __atomic_compare_exchange_n(&word, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

BoxedFunction*& boxed_word(c10::KernelFunction& kernel) noexcept {
  return kernel.boxed_kernel_func_.boxed_kernel_func_;
}

bool are_equal(const c10::KernelFunction& a, const c10::KernelFunction& b) noexcept {
  return a.boxed_kernel_func_.functor_.get() == b.boxed_kernel_func_.functor_.get() &&
         a.boxed_kernel_func_.boxed_kernel_func_ == b.boxed_kernel_func_.boxed_kernel_func_ &&
         a.unboxed_kernel_func_ == b.unboxed_kernel_func_ && a.sym_unboxed_kernel_func_ == b.sym_unboxed_kernel_func_;
}

bool lock_dispatcher() noexcept {
  constexpr int kPatience = 2000;
  constexpr timespec kPause{0, 50'000};
  std::mutex& mutex = c10::Dispatcher::singleton().guard_->mutex;
  for (int tries = 0; tries < kPatience; ++tries) {
    if (mutex.try_lock()) return true;
    nanosleep(&kPause, nullptr);
  }
  return false;
}

/// The latest kernel that was registered for exactly this key; nullptr if there is none.
c10::KernelFunction* registered(c10::impl::OperatorEntry& entry, c10::DispatchKey key) {
  const auto found = entry.kernels_.find(key);
  return found != entry.kernels_.end() && !found->second.empty() ? &found->second.front().kernel : nullptr;
}

}  // namespace

DispatcherLock::DispatcherLock() noexcept : owned(lock_dispatcher()) {}
DispatcherLock::~DispatcherLock() {
  if (owned) c10::Dispatcher::singleton().guard_->mutex.unlock();
}

const void* identity_of(const c10::OperatorHandle& op) noexcept { return op.operatorDef_; }
bool is_observed(const c10::OperatorHandle& op) noexcept { return op.operatorDef_->op.isObserved(); }

DispatchedKernel::DispatchedKernel(const c10::OperatorHandle& op, c10::DispatchKey key) {
  c10::impl::OperatorEntry& entry = op.operatorDef_->op;
  const int index = c10::getDispatchTableIndexForDispatchKey(key);
  if (index < 0) return;
  c10::KernelFunction& own = entry.dispatchTable_[static_cast<std::size_t>(index)];
  c10::KernelFunction* kernel = registered(entry, key);
  const bool is_shared = kernel == nullptr;
  if (is_shared) kernel = registered(entry, c10::DispatchKey::CompositeExplicitAutograd);
  if (kernel == nullptr || !are_equal(own, *kernel)) return;
  places_.push_back(&own);
  for (c10::KernelFunction& other : entry.dispatchTable_) {
    if (is_shared && &other != &own && are_equal(other, *kernel)) places_.push_back(&other);
  }
  places_.push_back(kernel);
}

BoxedFunction* DispatchedKernel::boxed() const noexcept {
  return places_.empty() ? nullptr : read(boxed_word(*places_.front()));
}

bool DispatchedKernel::has_unboxed() const noexcept {
  return !places_.empty() && (read(places_.front()->unboxed_kernel_func_) != nullptr ||
                              read(places_.front()->sym_unboxed_kernel_func_) != nullptr);
}

bool DispatchedKernel::is_what_torch_says(const c10::OperatorHandle& op, c10::DispatchKey key) const {
  if (places_.empty() || !op.hasComputedKernelForDispatchKey(key)) return false;
  c10::SafeKernelFunction said = op.getComputedKernelForDispatchKey(key);
  return are_equal(said.kernel_, *places_.front());
}

bool DispatchedKernel::replace(BoxedFunction* ours) noexcept {
  if (places_.empty() || boxed() == ours) return false;
  before_ = {boxed(), read(places_.front()->unboxed_kernel_func_), read(places_.front()->sym_unboxed_kernel_func_)};
  bool done = true;
  for (c10::KernelFunction* place : places_) {
    done = done && change(boxed_word(*place), before_.boxed, ours) &&
           (before_.symbolic == nullptr || change<void*>(place->sym_unboxed_kernel_func_, before_.symbolic, nullptr)) &&
           (before_.unboxed == nullptr || change<void*>(place->unboxed_kernel_func_, before_.unboxed, nullptr));
  }
  if (!done) restore(ours, before_);
  return done;
}

void DispatchedKernel::restore(BoxedFunction* ours, const KernelWords& before) noexcept {
  for (c10::KernelFunction* place : places_) {
    if (read(boxed_word(*place)) != ours) continue;
    if (before.unboxed != nullptr) change<void*>(place->unboxed_kernel_func_, nullptr, before.unboxed);
    if (before.symbolic != nullptr) change<void*>(place->sym_unboxed_kernel_func_, nullptr, before.symbolic);
    change(boxed_word(*place), ours, before.boxed);
  }
}

BoxedFunction* const* DispatchedKernel::place() const noexcept {
  return places_.empty() ? nullptr : &boxed_word(*places_.front());
}

}  // namespace dcmt::torch_provider
