#include "collector/torch/hooks/optimizer_hooks.h"

#include <cstddef>
#include <iterator>
#include <utility>

#include "collector/agent/provider.h"
#include "collector/elf/hidden_result.h"
#include "collector/torch/facts/layout.h"
#include "collector/torch/state/torch_thread.h"

namespace dcmt::torch_provider {
namespace {

/// Tensor Optimizer::step(closure)
using OptimizerStep = elf::HiddenResult (*)(void*, void*);

struct OptimizerClass {
  const char* step;  ///< symbols
  const char* table;
  const char* scope;  ///< as Python's optimizers name it
};
constexpr OptimizerClass kOptimizers[] = {
    {"_ZN5torch5optim3SGD4stepESt8functionIFN2at6TensorEvEE", "_ZTVN5torch5optim3SGDE", "Optimizer.step#SGD.step"},
    {"_ZN5torch5optim4Adam4stepESt8functionIFN2at6TensorEvEE", "_ZTVN5torch5optim4AdamE", "Optimizer.step#Adam.step"},
    {"_ZN5torch5optim5AdamW4stepESt8functionIFN2at6TensorEvEE", "_ZTVN5torch5optim5AdamWE",
     "Optimizer.step#AdamW.step"},
    {"_ZN5torch5optim5LBFGS4stepESt8functionIFN2at6TensorEvEE", "_ZTVN5torch5optim5LBFGSE",
     "Optimizer.step#LBFGS.step"},
    {"_ZN5torch5optim7Adagrad4stepESt8functionIFN2at6TensorEvEE", "_ZTVN5torch5optim7AdagradE",
     "Optimizer.step#Adagrad.step"},
    {"_ZN5torch5optim7RMSprop4stepESt8functionIFN2at6TensorEvEE", "_ZTVN5torch5optim7RMSpropE",
     "Optimizer.step#RMSprop.step"},
};
constexpr std::size_t kClasses = std::size(kOptimizers);

OptimizerStep g_steps[kClasses];

/// Lives while an optimizer makes its step.
class StepSpan {
 public:
  explicit StepSpan(const char* scope) noexcept {
    if (!agent::recording()) return;
    const agent::Inside inside;
    TorchThread* const thread = torch_thread();
    if (thread == nullptr) return;
    begun_ = true;
    begin_op(*thread, this, scope, wire::OpScope::kUser);
    write_running_ops();
  }
  ~StepSpan() {
    if (!begun_ || !agent::recording()) return;
    const agent::Inside inside;
    if (TorchThread* const thread = torch_thread(); thread != nullptr) end_op_of(*thread, this);
  }
  StepSpan(const StepSpan&) = delete;
  StepSpan& operator=(const StepSpan&) = delete;

 private:
  bool begun_ = false;
};

template <std::size_t kClass>
elf::HiddenResult on_step(void* optimizer, void* closure) {
  const StepSpan span(kOptimizers[kClass].scope);
  return g_steps[kClass](optimizer, closure);
}

constinit elf::ImportPatch g_step_imports[kClasses] = {};

template <std::size_t... kEach>
void fill_imports(std::index_sequence<kEach...>) noexcept {
  ((g_step_imports[kEach] = {kOptimizers[kEach].step, elf::pointer(on_step<kEach>), nullptr}), ...);
}

/// The functions of an optimizer's virtual table.
constexpr std::size_t kTableEntries = 5;

}  // namespace

void hook_optimizers(void* cpu) noexcept {
  fill_imports(std::make_index_sequence<kClasses>());
  for (std::size_t i = 0; i < kClasses; ++i) {
    auto** const table = static_cast<void**>(elf::symbol_in_use(cpu, kOptimizers[i].table));
    if (!elf::find(cpu, kOptimizers[i].step, g_steps[i]) || table == nullptr) continue;
    for (std::size_t slot = layout::kTableFunctions; slot < layout::kTableFunctions + kTableEntries; ++slot) {
      if (table[slot] != elf::pointer(g_steps[i])) continue;
      elf::patch_slot(table, slot, g_step_imports[i].replacement);
      break;
    }
  }
}

std::span<const elf::ImportPatch> optimizer_imports() noexcept {
  for (const OptimizerStep step : g_steps) {
    if (step == nullptr) return {};
  }
  return g_step_imports;
}

}  // namespace dcmt::torch_provider
