// Installs the hooks for tensors, storages, blocks and the backward phase.
#pragma once

namespace dcmt::torch_provider {

/// False, with the reason in `why`, if torch does not export what the hooks need, or if it cannot be hooked;
/// elf::undo() then removes what was installed. restore_all_slots() (new_objects.h) removes all hooks.
/// @param functional  also hooks functional storages
bool install_hooks(bool functional, const char** why) noexcept;

/// The same for the hooks of torch's allocators alone.
bool hook_allocators(const char** why) noexcept;

}  // namespace dcmt::torch_provider
