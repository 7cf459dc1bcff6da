// Births, deaths, moves and sizes of tensors and storages.
#pragma once

#include <cstddef>

namespace dcmt::torch_provider {

/// Installs all hooks, those of the allocators included. False, with the reason in `why`, if torch does not export what
/// they need, or it cannot be hooked; elf::undo() then takes back what was installed.
/// @param functional  also those of functional storages
bool install_lifetime_hooks(bool functional, const char** why) noexcept;

/// Takes all of them back, where they still are ours.
void remove_lifetime_hooks() noexcept;

/// Redirects the imports of objects that were loaded since. Returns how many slots were written.
std::size_t patch_new_objects() noexcept;

/// A storage is a key's from now on, and watched. In `lifetimes` its views so far made no record, and no tensor of a
/// small one did: this writes the births of those that did not. Call inside the guard.
void follow_from_now(const void* storage) noexcept;

}  // namespace dcmt::torch_provider
