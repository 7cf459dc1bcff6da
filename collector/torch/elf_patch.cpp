#include "collector/torch/elf_patch.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

namespace dcmt::torch_provider {
namespace {

struct PatchedSlot {
  void** slot;
  void* original;
  void* replacement;
};

// Leaked on purpose: hooks may run until the very end of the process.
std::vector<PatchedSlot>& patched() {
  static auto* slots = new std::vector<PatchedSlot>();
  return *slots;
}

std::vector<ElfW(Addr)>& seen_objects() {
  static auto* objects = new std::vector<ElfW(Addr)>();
  return *objects;
}

/// Current protection of the page at `address`, from the kernel; PROT_READ if unknown.
int protection_of(std::uintptr_t address) {
  int protection = PROT_READ;
  FILE* maps = fopen("/proc/self/maps", "re");
  if (maps == nullptr) return protection;
  char line[512];
  while (fgets(line, sizeof line, maps) != nullptr) {
    std::uintptr_t low = 0;
    std::uintptr_t high = 0;
    char flags[5] = {};
    // The kernel writes these numbers. NOLINTNEXTLINE(cert-err34-c)
    if (sscanf(line, "%lx-%lx %4s", &low, &high, flags) == 3 && address >= low && address < high) {
      protection =
          (flags[0] == 'r' ? PROT_READ : 0) | (flags[1] == 'w' ? PROT_WRITE : 0) | (flags[2] == 'x' ? PROT_EXEC : 0);
      break;
    }
  }
  fclose(maps);
  return protection;
}

/// Stores `value`, making the page writable for the moment if it is not.
bool write_slot(void** slot, void* value) {
  const auto page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(slot) & ~(page_size - 1);
  const int protection = protection_of(page);
  const bool closed = (protection & PROT_WRITE) == 0;
  if (closed && mprotect(reinterpret_cast<void*>(page), page_size, protection | PROT_WRITE) != 0) return false;
  __atomic_store_n(slot, value, __ATOMIC_RELEASE);
  if (closed) mprotect(reinterpret_cast<void*>(page), page_size, protection);
  return true;
}

bool replace(void** slot, void* replacement) {
  // The original is remembered before the slot changes, so that a restore can never miss it.
  patched().push_back({slot, __atomic_load_n(slot, __ATOMIC_ACQUIRE), replacement});
  if (write_slot(slot, replacement)) return true;
  patched().pop_back();
  return false;
}

const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

struct Request {
  const ImportPatch* patches;
  std::size_t count;
  ElfW(Addr) own_base;
  std::size_t written;
};

struct Relocations {
  const ElfW(Rela) * table = nullptr;
  std::size_t count = 0;
};

void patch_table(const Relocations& relocations, const ElfW(Sym) * symbols, const char* names, ElfW(Addr) base,
                 const char* object, Request& request) {
  if (relocations.table == nullptr) return;
  for (std::size_t i = 0; i < relocations.count; ++i) {
    const ElfW(Rela)& entry = relocations.table[i];
    const auto type = ELF64_R_TYPE(entry.r_info);
    if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) continue;
    const char* name = names + symbols[ELF64_R_SYM(entry.r_info)].st_name;
    // All of them are C++ names of c10 or at: one comparison rules most imports out.
    if (name[0] != '_' || name[1] != 'Z') continue;
    for (std::size_t p = 0; p < request.count; ++p) {
      const ImportPatch& patch = request.patches[p];
      if (strcmp(name, patch.symbol) != 0) continue;
      if (patch.only_object != nullptr && strncmp(object, patch.only_object, strlen(patch.only_object)) != 0) continue;
      if (replace(reinterpret_cast<void**>(base + entry.r_offset), patch.replacement)) ++request.written;
    }
  }
}

int patch_object(dl_phdr_info* info, std::size_t, void* context) {
  auto& request = *static_cast<Request*>(context);
  if (info->dlpi_addr == request.own_base) return 0;
  for (const ElfW(Addr) seen : seen_objects()) {
    if (seen == info->dlpi_addr) return 0;
  }
  seen_objects().push_back(info->dlpi_addr);

  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC) {
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    }
  }
  const char* object = base_name(info->dlpi_name != nullptr ? info->dlpi_name : "");
  // The kernel's own object has unrelocated pointers in its dynamic section, and imports nothing.
  if (dynamic == nullptr || strstr(object, "vdso") != nullptr) return 0;

  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  Relocations jump;
  Relocations data;
  for (; dynamic->d_tag != DT_NULL; ++dynamic) {
    const auto pointer = dynamic->d_un.d_ptr;
    switch (dynamic->d_tag) {
      case DT_SYMTAB:
        symbols = reinterpret_cast<const ElfW(Sym)*>(pointer);
        break;
      case DT_STRTAB:
        names = reinterpret_cast<const char*>(pointer);
        break;
      case DT_JMPREL:
        jump.table = reinterpret_cast<const ElfW(Rela)*>(pointer);
        break;
      case DT_PLTRELSZ:
        jump.count = dynamic->d_un.d_val / sizeof(ElfW(Rela));
        break;
      case DT_RELA:
        data.table = reinterpret_cast<const ElfW(Rela)*>(pointer);
        break;
      case DT_RELASZ:
        data.count = dynamic->d_un.d_val / sizeof(ElfW(Rela));
        break;
      default:
        break;
    }
  }
  if (symbols == nullptr || names == nullptr) return 0;
  patch_table(jump, symbols, names, info->dlpi_addr, object, request);
  patch_table(data, symbols, names, info->dlpi_addr, object, request);
  return 0;
}

ElfW(Addr) own_base() {
  Dl_info self{};
  dladdr(reinterpret_cast<void*>(&patch_imports), &self);
  return reinterpret_cast<ElfW(Addr)>(self.dli_fbase);
}

}  // namespace

std::size_t patch_imports(const ImportPatch* patches, std::size_t count) noexcept {
  Request request{patches, count, own_base(), 0};
  dl_iterate_phdr(patch_object, &request);
  return request.written;
}

void* symbol_in_use(void* library, const char* symbol) noexcept {
  // The program comes first in the global scope. Under Python torch is not in it.
  void* found = dlsym(RTLD_DEFAULT, symbol);
  return found != nullptr ? found : dlsym(library, symbol);
}

void* patch_virtual(void** table, std::size_t index, void* replacement) noexcept {
  void** slot = table + index;
  void* original = *slot;
  return replace(slot, replacement) ? original : nullptr;
}

void restore_patches() noexcept {
  for (auto it = patched().rbegin(); it != patched().rend(); ++it) {
    if (__atomic_load_n(it->slot, __ATOMIC_ACQUIRE) == it->replacement) write_slot(it->slot, it->original);
  }
  patched().clear();
}

}  // namespace dcmt::torch_provider
