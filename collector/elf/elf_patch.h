// Replaces function pointers in import slots and in virtual tables.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace dcmt::elf {

/// An import to redirect in loaded objects.
struct ImportPatch {
  const char* symbol;  ///< mangled name
  void* replacement;
  const char* only_object;  ///< nullptr: in every object; else only in the one whose file name begins with this
};

struct Patched {
  std::size_t written;  ///< number of slots
  bool postponed;       ///< an object that imports one of the symbols is still being loaded: call again
  bool searched;        ///< true: objects were searched; false: nothing was loaded since, or it is too early
  /// File of an object whose slots were never all relocated, although we waited: it stays unchanged. Valid as long as
  /// the object is loaded; nullptr: there is none.
  const char* given_up;
};

/// A slot of an object that could be redirected.
struct FoundSlot {
  const ImportPatch& patch;
  const char* object;        ///< its file name
  std::uintptr_t base, end;  ///< addresses of the object
  const void* value;         ///< what is in the slot
  bool in_data;              ///< a variable of the object has the address
  bool defined_here;         ///< the object has a function of this name itself
};

/// For a caller that does not want every slot. It runs under the loader's lock: it must not call malloc.
struct SlotChoice {
  bool (*wants)(const FoundSlot& slot) noexcept;
};

/// Redirects every slot of the patches in every loaded object that was not inspected yet, except the provider itself.
/// The symbols of a group must begin with the same two characters. An object that is still being loaded is inspected
/// again after 1, 2, 4, ... ms, for about a second. Not thread-safe against itself; only for set-up and later searches.
/// @param choice  nullptr: all slots through which functions are called or their addresses are taken in code; else also
///                variables with such an address
Patched patch_imports(std::span<const std::span<const ImportPatch>> groups,
                      const SlotChoice* choice = nullptr) noexcept;

/// The next patch_imports() inspects all objects again.
void inspect_all_again() noexcept;

/// The handle of a loaded library; nullptr if the process has not loaded it.
void* loaded_library(const char* name) noexcept;

/// A function of a loaded library, which a hook calls. False if the library has no such function.
template <class Function>
bool find(void* library, const char* symbol, Function& out) noexcept {
  out = reinterpret_cast<Function>(dlsym(library, symbol));
  return out != nullptr;
}

template <class Function>
void* pointer(Function function) noexcept {
  return reinterpret_cast<void*>(function);
}

/// The address of the variable or virtual table `symbol` of `library`; nullptr if there is none. A program linked with
/// the library can have a copy, which is the one in use then (a copy relocation).
void* symbol_in_use(void* library, const char* symbol) noexcept;

/// The places, at most `out.size()`, where the loaded `library` (by its file name) has the address of a function that
/// it imports. Returns their number.
std::size_t import_slots(const char* library, const char* symbol, std::span<void**> out) noexcept;

/// Replaces word `index` of a table of addresses, such as a virtual one. False if its page cannot be written.
bool patch_slot(void** table, std::size_t index, void* replacement) noexcept;

/// Restores the earlier value of every slot that was changed to `replacement` (nullptr: to any value) and still has
/// that value. A slot that another tool has changed since is not touched. Returns the number of restored slots. Not
/// thread-safe against itself and patch_imports().
std::size_t undo(void* replacement = nullptr) noexcept;

}  // namespace dcmt::elf
