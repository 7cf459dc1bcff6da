#include "collector/torch/hooks/block_owners.h"

#include <array>
#include <cstddef>
#include <iterator>
#include <utility>

#include "collector/agent/provider.h"
#include "collector/elf/hidden_result.h"
#include "collector/torch/state/torch_thread.h"

namespace dcmt::torch_provider {
namespace {

/// What a function returns: a word, or an object.
enum class Returns : bool { kWord, kObject };

/// A function that makes a workspace at its first use. Torch keeps one for each handle and stream.
struct Function {
  const char* symbol;
  const char* owner;
  Returns returns;
};

constexpr char kBlas[] = "cuBLAS workspace";
constexpr char kBlasLt[] = "cuBLASLt workspace";

// The functions in torch 2.10 to 2.15. No version has all of them.
constexpr Function kFunctions[] = {
    {"_ZN2at4cuda24getCurrentCUDABlasHandleEv", kBlas, Returns::kWord},
    {"_ZN2at4cuda24getCurrentCUDABlasHandleEb", kBlas, Returns::kWord},
    {"_ZN2at4cuda37getCurrentCUDABlasHandleWithWorkspaceEv", kBlas, Returns::kObject},
    {"_ZN2at4cuda25allocateCUDABlasWorkspaceEm", kBlas, Returns::kObject},
    {"_ZN2at4cuda22getCUDABlasLtWorkspaceEv", kBlasLt, Returns::kWord},
    {"_ZN2at4cuda22getCUDABlasLtWorkspaceEm", kBlasLt, Returns::kWord},
};
constexpr std::size_t kCount = std::size(kFunctions);

/// All of them have at most one argument.
using Word = void* (*)(void*);
using Object = elf::HiddenResult (*)(void*);
constinit std::array<void*, kCount> g_real{};

/// Names the owner of allocations as long as it lives.
class Owner {
 public:
  explicit Owner(const char* name) noexcept : thread_(agent::recording() ? torch_thread() : nullptr) {
    if (thread_ == nullptr) return;
    before_ = thread_->block_owner;
    thread_->block_owner = name;
  }
  ~Owner() {
    if (thread_ != nullptr) thread_->block_owner = before_;
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

 private:
  TorchThread* thread_;
  const char* before_ = nullptr;
};

template <std::size_t kIndex, class Function>
auto on_call(void* argument) {
  const Owner owner(kFunctions[kIndex].owner);
  return reinterpret_cast<Function>(g_real[kIndex])(argument);
}

template <std::size_t kIndex>
void* hook() {
  if constexpr (kFunctions[kIndex].returns == Returns::kObject) return elf::pointer(on_call<kIndex, Object>);
  return elf::pointer(on_call<kIndex, Word>);
}

template <std::size_t... kIndices>
std::array<void*, kCount> make_hooks(std::index_sequence<kIndices...>) {
  return {hook<kIndices>()...};
}

}  // namespace

std::span<const elf::ImportPatch> block_owner_imports(void* cuda) noexcept {
  static constinit std::array<elf::ImportPatch, kCount> patches{};
  static constinit std::size_t count = 0;
  static constinit bool searched = false;
  if (searched) return {patches.data(), count};
  searched = true;
  const std::array<void*, kCount> hooks = make_hooks(std::make_index_sequence<kCount>());
  bool blas = false;
  bool blas_lt = false;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (!elf::find(cuda, kFunctions[i].symbol, g_real[i])) continue;
    patches[count++] = {kFunctions[i].symbol, hooks[i], nullptr};
    (kFunctions[i].owner == kBlas ? blas : blas_lt) = true;
  }
  if (!blas || !blas_lt) {
    agent::diagnose(wire::DiagnosticCode::kNote,
                    "this torch makes the workspaces of cuBLAS or cuBLASLt in another way: their blocks have no owner");
  }
  return {patches.data(), count};
}

}  // namespace dcmt::torch_provider
