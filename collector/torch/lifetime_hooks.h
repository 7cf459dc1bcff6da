// Hooks for births, deaths, moves and sizes of tensors and storages.
#pragma once

#include <cstddef>

namespace dcmt::torch_provider {

/// Installs all hooks, including those of the allocators. False, with the reason in `why`, if torch does not export
/// what they need, or if it cannot be hooked; elf::undo() then removes what was installed.
/// @param functional  also hooks functional storages
bool install_lifetime_hooks(bool functional, const char** why) noexcept;

/// Removes all hooks, except where another tool has replaced them.
void remove_lifetime_hooks() noexcept;

/// Redirects the imports of objects that were loaded since the last call. Returns how many slots were written.
std::size_t patch_new_objects() noexcept;

/// A storage belongs to a key from now on, and is watched. In `lifetimes`, its views, and all tensors of a small
/// storage, have no records so far: this writes their missing births. Call it inside the guard.
void follow_from_now(const void* storage) noexcept;

}  // namespace dcmt::torch_provider
