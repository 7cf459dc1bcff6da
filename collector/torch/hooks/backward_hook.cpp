#include "collector/torch/hooks/backward_hook.h"

#include "collector/agent/provider.h"
#include "collector/elf/hidden_result.h"
#include "collector/torch/facts/layout.h"
#include "collector/torch/facts/symbols.h"
#include "collector/torch/records/small_blocks.h"
#include "collector/torch/state/torch_thread.h"

namespace dcmt::torch_provider {
namespace {

/// A vector of Engine::execute(roots, inputs, keep graph, create graph, accumulate, outputs).
using EngineExecute = elf::HiddenResult (*)(void*, const void*, const void*, bool, bool, bool, const void*);

EngineExecute g_engine_execute;
void** g_engine_table;

/// Lives while a thread runs the engine.
class BackwardSpan {
 public:
  BackwardSpan() noexcept;
  ~BackwardSpan();
  BackwardSpan(const BackwardSpan&) = delete;
  BackwardSpan& operator=(const BackwardSpan&) = delete;

 private:
  bool begun_ = false;
};

BackwardSpan::BackwardSpan() noexcept {
  if (!agent::recording()) return;
  agent::Inside inside;
  TorchThread* thread = torch_thread();
  if (thread == nullptr) return;
  begun_ = true;
  begin_op(*thread, this, "autograd::engine::execute", wire::OpScope::kBackward);
  write_small_sums();
  write_running_ops();
  agent::hold_at_backward();
}

BackwardSpan::~BackwardSpan() {
  if (!begun_ || !agent::recording()) return;
  agent::Inside inside;
  TorchThread* thread = torch_thread();
  if (thread == nullptr) return;
  write_small_sums();
  end_op_of(*thread, this);
}

elf::HiddenResult on_engine_execute(void* engine, const void* roots, const void* inputs, bool keep_graph,
                                    bool create_graph, bool accumulate, const void* outputs) {
  const BackwardSpan backward;
  return g_engine_execute(engine, roots, inputs, keep_graph, create_graph, accumulate, outputs);
}

const elf::ImportPatch kImports[] = {{kEngineExecute, elf::pointer(on_engine_execute), nullptr}};

}  // namespace

bool find_engine(void* cpu) noexcept {
  g_engine_table = static_cast<void**>(elf::symbol_in_use(cpu, kEngineTable));
  return elf::find(cpu, kEngineExecute, g_engine_execute) && g_engine_table != nullptr &&
         g_engine_table[layout::kEngineSlotExecute] == elf::pointer(g_engine_execute);
}

bool hook_engine() noexcept {
  return elf::patch_slot(g_engine_table, layout::kEngineSlotExecute, elf::pointer(on_engine_execute));
}

std::span<const elf::ImportPatch> engine_imports() noexcept { return kImports; }

}  // namespace dcmt::torch_provider
