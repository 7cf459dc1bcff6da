#include "collector/elf/elf_patch.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "collector/elf/page_list.h"
#include "collector/elf/slots.h"
#include "trace/arch/arch.h"

namespace dcmt::elf {
namespace {

/// Inspected objects by address. If an object is unloaded, the next one can have its address.
constinit PageList<ElfW(Addr)> g_seen;

struct SlotToWrite {
  void** slot;
  const ImportPatch* patch;
  bool in_data;
  bool defined_here;
};
using SlotsOfObject = PageList<SlotToWrite>;

// The loader's counts of loaded and unloaded objects when g_seen was complete.
unsigned long long g_loaded = 0;
unsigned long long g_unloaded = 0;
bool g_postponed = false;  ///< an object is still incomplete, and will be inspected again

// For incomplete objects. Hooks ask as long as there is one, and a search costs milliseconds, so the number is limited.
constexpr unsigned kMostSearches = 10;
constexpr std::int64_t kFirstPauseNs = 1'000'000;
unsigned g_failed_searches = 0;  ///< unsuccessful searches since something was loaded
std::int64_t g_next_search_ns = 0;

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

/// Reading the kernel's list of mappings is a cancellation point, which a hook must not be.
class NotCancelled {
 public:
  NotCancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NotCancelled() { pthread_setcancelstate(before_, nullptr); }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

struct Request {
  std::span<const std::span<const ImportPatch>> groups;
  const SlotChoice* choice;
  ElfW(Addr) own_base;
  std::size_t written;
  bool changed;
  bool postponed;
  bool searched;
  const char* given_up;
  SlotsOfObject slots;  ///< slots of the inspected object
};

struct Relocations {
  const ElfW(Rela) * table = nullptr;
  std::size_t count = 0;
};

/// The imports of an object.
struct Imports {
  const char* object = nullptr;  ///< its file name
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  Relocations jump, data;
};

Imports imports_of(const dl_phdr_info& info) {
  Imports imports;
  imports.object = base_name(info.dlpi_name != nullptr ? info.dlpi_name : "");
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    }
  }
  // The kernel's own object has unrelocated pointers in its dynamic section, and it imports nothing.
  if (dynamic == nullptr || strstr(imports.object, "vdso") != nullptr) return imports;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const auto pointer = dynamic->d_un.d_ptr;
    switch (dynamic->d_tag) {
      case DT_SYMTAB:
        imports.symbols = reinterpret_cast<const ElfW(Sym)*>(pointer);
        break;
      case DT_STRTAB:
        imports.names = reinterpret_cast<const char*>(pointer);
        break;
      case DT_JMPREL:
        imports.jump.table = reinterpret_cast<const ElfW(Rela)*>(pointer);
        break;
      case DT_PLTRELSZ:
        imports.jump.count = dynamic->d_un.d_val / sizeof(ElfW(Rela));
        break;
      case DT_RELA:
        imports.data.table = reinterpret_cast<const ElfW(Rela)*>(pointer);
        break;
      case DT_RELASZ:
        imports.data.count = dynamic->d_un.d_val / sizeof(ElfW(Rela));
        break;
      default:
        break;
    }
  }
  return imports;
}

/// Calls `visit(slot, symbol, name, in_data)` for every function or variable that the object at `base` imports.
/// @param with_data  variables that have an import's address, too
template <class Visit>
void each_import(const Imports& imports, ElfW(Addr) base, bool with_data, Visit&& visit) {
  if (imports.symbols == nullptr || imports.names == nullptr) return;
  for (const Relocations& relocations : {imports.jump, imports.data}) {
    if (relocations.table == nullptr) continue;
    for (std::size_t i = 0; i < relocations.count; ++i) {
      const ElfW(Rela)& entry = relocations.table[i];
      const auto type = ELF64_R_TYPE(entry.r_info);
      const bool in_data = type == arch::kDataSlot && entry.r_addend == 0;
      if (type != arch::kCallSlot && type != arch::kAddressSlot && !(with_data && in_data)) continue;
      const ElfW(Sym)& symbol = imports.symbols[ELF64_R_SYM(entry.r_info)];
      visit(reinterpret_cast<void**>(base + entry.r_offset), symbol, imports.names + symbol.st_name, in_data);
    }
  }
}

/// Calls `visit(patch)` for every patch of this symbol in this object.
template <class Visit>
void each_patch(const Request& request, const char* object, const char* name, Visit&& visit) {
  for (const auto& group : request.groups) {
    // All symbols of a group begin alike (C++ names of c10 and at, functions of CUPTI): this excludes most imports.
    if (group.empty() || name[0] != group.front().symbol[0] || name[1] != group.front().symbol[1]) continue;
    for (const ImportPatch& patch : group) {
      if (strcmp(name, patch.symbol) != 0) continue;
      if (patch.only_object != nullptr && strncmp(object, patch.only_object, strlen(patch.only_object)) != 0) continue;
      visit(patch);
    }
  }
}

/// The end of the object's last segment, from its base.
ElfW(Addr) span_of(const dl_phdr_info& info) {
  ElfW(Addr) span = 0;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    span = std::max(span, info.dlpi_phdr[i].p_vaddr + info.dlpi_phdr[i].p_memsz);
  }
  return span;
}

/// True if the slots contain addresses, not offsets: the loader has relocated them.
bool are_relocated(ElfW(Addr) span, const SlotsOfObject& slots) {
  return std::all_of(slots.begin(), slots.end(), [span](const auto& each) {
    return reinterpret_cast<ElfW(Addr)>(__atomic_load_n(each.slot, __ATOMIC_ACQUIRE)) >= span;
  });
}

/// False while the loader still works on an object. During another thread's dlopen(), the object is listed before its
/// slots are final, and relocating our replacement would make it invalid. The loader's last step is to make the pages
/// of PT_GNU_RELRO read-only. An object without such pages has addresses in its slots once it is relocated. The same
/// check is used, after some tries, for an object whose pages another tool has made writable again.
bool is_complete(const dl_phdr_info& info, const SlotsOfObject& slots) {
  const auto page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  std::optional<bool> closed;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    if (part.p_type != PT_GNU_RELRO) continue;
    const std::uintptr_t begin = (info.dlpi_addr + part.p_vaddr) & ~(page_size - 1);
    const std::uintptr_t end = (info.dlpi_addr + part.p_vaddr + part.p_memsz) & ~(page_size - 1);
    if (begin < end) closed = mapping_of(begin).protection == PROT_READ;
  }
  if (closed.has_value() && (*closed || g_failed_searches < kMostSearches)) return *closed;
  return info.dlpi_addr == 0 || are_relocated(span_of(info), slots);
}

/// Called under the loader's lock: must not call malloc.
int patch_object(dl_phdr_info* info, std::size_t, void* context) {
  auto& request = *static_cast<Request*>(context);
  if (info->dlpi_subs != g_unloaded) g_seen.clear();
  request.changed = request.changed || info->dlpi_adds != g_loaded || info->dlpi_subs != g_unloaded;
  g_loaded = info->dlpi_adds;
  g_unloaded = info->dlpi_subs;
  if (!request.searched) {
    if (request.changed) g_failed_searches = 0;
    if (!request.changed && (!g_postponed || now_ns() < g_next_search_ns)) return 1;
    request.searched = true;
  }
  if (info->dlpi_addr == request.own_base) return 0;
  for (const ElfW(Addr) seen : g_seen) {
    if (seen == info->dlpi_addr) return 0;
  }

  const Imports imports = imports_of(*info);
  SlotsOfObject& slots = request.slots;
  slots.clear();
  bool has_room = true;
  const bool with_data = request.choice != nullptr;
  each_import(imports, info->dlpi_addr, with_data,
              [&](void** slot, const ElfW(Sym) & symbol, const char* name, bool in_data) {
                each_patch(request, imports.object, name, [&](const ImportPatch& patch) {
                  has_room = slots.add({slot, &patch, in_data, symbol.st_shndx != SHN_UNDEF}) && has_room;
                });
              });
  if (!has_room || (!slots.empty() && !is_complete(*info, slots))) {
    if (g_failed_searches < kMostSearches) {
      request.postponed = true;
      return 0;
    }
    request.given_up = imports.object;
    slots.clear();
  }
  // If the list is full, the object is inspected again, which changes nothing.
  static_cast<void>(g_seen.add(info->dlpi_addr));
  Mapping around;  // read only once: the slots of an object are close together
  for (const auto& [slot, patch, in_data, defined_here] : slots) {
    void* const value = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (value == patch->replacement) continue;
    const auto is_wanted = [&] {
      return request.choice->wants(
          {*patch, imports.object, info->dlpi_addr, info->dlpi_addr + span_of(*info), value, in_data, defined_here});
    };
    if (request.choice != nullptr && !is_wanted()) continue;
    if (write_slot(slot, patch->replacement, around)) ++request.written;
  }
  return 0;
}

ElfW(Addr) own_base() {
  Dl_info self{};
  dladdr(reinterpret_cast<void*>(&patch_imports), &self);
  return reinterpret_cast<ElfW(Addr)>(self.dli_fbase);
}

}  // namespace

Patched patch_imports(std::span<const std::span<const ImportPatch>> groups, const SlotChoice* choice) noexcept {
  const NotCancelled not_cancelled;
  Request request{groups, choice, own_base(), 0, false, false, false, nullptr, {}};
  dl_iterate_phdr(patch_object, &request);
  request.slots.release();
  if (request.searched) {
    g_postponed = request.postponed;
    g_next_search_ns = now_ns() + (kFirstPauseNs << g_failed_searches);
    g_failed_searches = request.postponed ? g_failed_searches + 1 : 0;
  }
  return {request.written, g_postponed, request.searched, request.given_up};
}

void* loaded_library(const char* name) noexcept { return dlopen(name, RTLD_NOLOAD | RTLD_LAZY); }

void* symbol_in_use(void* library, const char* symbol) noexcept {
  // The program comes first in the global scope. Under Python, torch is not in that scope.
  void* found = dlsym(RTLD_DEFAULT, symbol);
  return found != nullptr ? found : dlsym(library, symbol);
}

namespace {
struct SlotsWanted {
  const char* library;
  const char* symbol;
  std::span<void**> out;
  std::size_t found;
};
}  // namespace

std::size_t import_slots(const char* library, const char* symbol, std::span<void**> out) noexcept {
  SlotsWanted wanted{library, symbol, out, 0};
  const auto visit = [](dl_phdr_info* info, std::size_t, void* context) {
    auto& of = *static_cast<SlotsWanted*>(context);
    const Imports imports = imports_of(*info);
    if (strcmp(imports.object, of.library) != 0) return 0;
    each_import(imports, info->dlpi_addr, false, [&](void** slot, const ElfW(Sym)&, const char* name, bool) {
      if (strcmp(name, of.symbol) == 0 && of.found < of.out.size()) of.out[of.found++] = slot;
    });
    return 1;
  };
  dl_iterate_phdr(visit, &wanted);
  return wanted.found;
}

bool patch_slot(void** table, std::size_t index, void* replacement) noexcept {
  const NotCancelled not_cancelled;
  Mapping around;
  return write_slot(table + index, replacement, around);
}

void inspect_all_again() noexcept {
  g_seen.clear();
  g_loaded = 0;
}

std::size_t undo(void* replacement) noexcept {
  const NotCancelled not_cancelled;
  inspect_all_again();
  return undo_slots(replacement);
}

}  // namespace dcmt::elf
