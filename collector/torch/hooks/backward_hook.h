// Observes autograd's engine: a thread that runs it makes the backward phase, whether or not operators are observed.
#pragma once

#include <span>

#include "collector/elf/elf_patch.h"

namespace dcmt::torch_provider {

/// Finds the engine. False if this torch does not export it.
bool find_engine(void* cpu) noexcept;

/// Writes the engine's virtual table. False if it cannot be written.
bool hook_engine() noexcept;

/// The import slots to redirect.
std::span<const elf::ImportPatch> engine_imports() noexcept;

}  // namespace dcmt::torch_provider
