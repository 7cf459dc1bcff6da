// Hooks of the C library's functions that give memory to the kernel, which does not fault at a fence but fails: the
// memory is opened before, as a touch. Only under `dc-memtrace prove`.
#pragma once

#include <cstddef>
#include <span>

#include "collector/elf/elf_patch.h"

namespace dcmt::torch_provider {

inline constexpr std::size_t kSystemCallGroups = 7;
/// The imports to redirect: kSystemCallGroups groups, which are empty unless something is fenced.
std::span<const std::span<const elf::ImportPatch>> system_call_imports() noexcept;

}  // namespace dcmt::torch_provider
