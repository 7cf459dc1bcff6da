// Steps of torch's optimizers in C++. Those of Python open a user scope, which is seen as an operator.
#pragma once

#include <span>

#include "collector/elf/elf_patch.h"

namespace dcmt::torch_provider {

/// Finds them in libtorch_cpu, and redirects their virtual tables. What is not found is not seen.
void hook_optimizers(void* cpu) noexcept;

/// For direct calls.
std::span<const elf::ImportPatch> optimizer_imports() noexcept;

}  // namespace dcmt::torch_provider
