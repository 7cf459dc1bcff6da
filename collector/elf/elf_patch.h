// Rewrites imported-function slots and virtual-table slots.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace dcmt::elf {

/// One import to redirect in loaded objects.
struct ImportPatch {
  const char* symbol;  ///< mangled name
  void* replacement;
  const char* only_object;  ///< nullptr: every object; else only the one whose file name begins with this
};

struct Patched {
  std::size_t written;  ///< slots
  bool postponed;       ///< an object that imports one of the symbols is still being loaded: look again
  bool looked;          ///< went through the objects; false: nothing was loaded since, or it is too early to look again
  /// File of an object that was waited for in vain, whose slots were never all relocated: it stays as it is. Valid as
  /// long as the object is loaded; nullptr: there is none.
  const char* given_up;
};

/// Redirects every slot of the patches (the symbols of a group begin with the same two characters) in every loaded
/// object that has not been seen yet, the provider's own excepted. One that is still being loaded is looked at again
/// after 1, 2, 4, ... ms, for about a second. Not thread-safe against itself; set-up and re-scans only.
Patched patch_imports(std::span<const std::span<const ImportPatch>> groups) noexcept;

/// The next patch_imports() goes through all objects, also those that it has seen.
void look_at_all_again() noexcept;

/// A library that the process has loaded, nullptr if it has not.
void* loaded_library(const char* name) noexcept;

/// A function of a loaded library, as what a hook passes on to. False if the library has no such function.
template <class Function>
bool find(void* library, const char* symbol, Function& out) noexcept {
  out = reinterpret_cast<Function>(dlsym(library, symbol));
  return out != nullptr;
}

template <class Function>
void* pointer(Function function) noexcept {
  return reinterpret_cast<void*>(function);
}

/// Where the variable or virtual table `symbol` of `library` is, nullptr if there is none. A program linked with the
/// library can have a copy, which then is the one in use (a copy relocation).
void* symbol_in_use(void* library, const char* symbol) noexcept;

/// Where the loaded `library` (its file's name) keeps the address of a function that it imports, up to `out.size()`
/// places; how many there are.
std::size_t import_slots(const char* library, const char* symbol, std::span<void**> out) noexcept;

/// Replaces word `index` of a table of addresses, such as a virtual one. False if its page cannot be written.
bool patch_slot(void** table, std::size_t index, void* replacement) noexcept;

/// Puts back what was in a slot before, for every slot that was changed to `replacement` (nullptr: to anything) and
/// still has that. A slot that somebody else has changed since is left. Returns how many slots were put back. Not
/// thread-safe against itself and patch_imports().
std::size_t undo(void* replacement = nullptr) noexcept;

}  // namespace dcmt::elf
