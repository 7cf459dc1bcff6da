// Rewrites imported-function slots and virtual-table slots, and puts them back.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dcmt::torch_provider {

/// One import to redirect in loaded objects.
struct ImportPatch {
  const char* symbol;  ///< mangled name
  void* replacement;
  const char* only_object;  ///< nullptr: every object; else only the one whose file name begins with this
};

/// Redirects every slot of `patches` in every loaded object that has not been seen yet, the provider's own excepted.
/// Returns how many slots were written. Not thread-safe against itself; set-up and re-scans only.
std::size_t patch_imports(const ImportPatch* patches, std::size_t count) noexcept;

/// Where the variable or virtual table `symbol` of `library` is, nullptr if there is none. A program linked with the
/// library can have a copy, which then is the one in use (a copy relocation).
void* symbol_in_use(void* library, const char* symbol) noexcept;

/// Replaces slot `index` (counted from the start of the symbol) of the virtual table `table`; returns the old value.
void* patch_virtual(void** table, std::size_t index, void* replacement) noexcept;

/// Puts back every slot that still holds our value.
void restore_patches() noexcept;

}  // namespace dcmt::torch_provider
