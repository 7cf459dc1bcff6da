#include "collector/native/allocator_hooks.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <new>
#include <span>

#include "collector/agent/provider.h"
#include "collector/elf/elf_patch.h"
#include "collector/native/sampling.h"

extern "C" {
void* dcmt_native_dlsym(void* handle, const char* symbol);
__attribute__((visibility("hidden"))) void* dcmt_native_real_dlsym = nullptr;
}

namespace dcmt::native_provider {
namespace {

using elf::ImportPatch;
using elf::pointer;
using wire::NativeCall;

/// The functions that the hooks call: those that the objects call without the hooks.
struct RealFunctions {
  void* (*malloc)(std::size_t);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void (*free)(void*);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*mmap)(void*, std::size_t, int, int, int, off_t);
  int (*munmap)(void*, std::size_t);
  void* (*mremap)(void*, std::size_t, std::size_t, int, void*);
  void* (*make)(std::size_t);
  void* (*make_array)(std::size_t);
  void* (*make_nothrow)(std::size_t, const std::nothrow_t&);
  void* (*make_array_nothrow)(std::size_t, const std::nothrow_t&);
  void* (*make_aligned)(std::size_t, std::align_val_t);
  void* (*make_array_aligned)(std::size_t, std::align_val_t);
  void (*end)(void*);
  void (*end_array)(void*);
  void (*end_sized)(void*, std::size_t);
  void (*end_array_sized)(void*, std::size_t);
  void (*end_aligned)(void*, std::align_val_t);
  void (*end_array_aligned)(void*, std::align_val_t);
  void (*end_sized_aligned)(void*, std::size_t, std::align_val_t);
  void (*end_array_sized_aligned)(void*, std::size_t, std::align_val_t);
};
constinit RealFunctions g_real = {};

void* on_malloc(std::size_t bytes) noexcept {
  void* address = g_real.malloc(bytes);
  if (address != nullptr) allocated(NativeCall::kMalloc, address, bytes);
  return address;
}

void* on_calloc(std::size_t count, std::size_t each) noexcept {
  void* address = g_real.calloc(count, each);
  if (address != nullptr) allocated(NativeCall::kMalloc, address, count * each);
  return address;
}

void* on_realloc(void* before, std::size_t bytes) noexcept {
  const bool was_sampled = before != nullptr && g_sampled.may_have(before) && end_sampled(before);
  void* address = g_real.realloc(before, bytes);
  if (address != nullptr) {
    allocated(NativeCall::kRealloc, address, bytes);
  } else if (was_sampled && bytes != 0) {
    go_on(before);
  }
  return address;
}

void on_free(void* address) noexcept {
  freed(address);
  g_real.free(address);
}

int on_posix_memalign(void** out, std::size_t alignment, std::size_t bytes) noexcept {
  const int failure = g_real.posix_memalign(out, alignment, bytes);
  if (failure == 0 && *out != nullptr) allocated(NativeCall::kMalloc, *out, bytes);
  return failure;
}

void* on_aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  void* address = g_real.aligned_alloc(alignment, bytes);
  if (address != nullptr) allocated(NativeCall::kMalloc, address, bytes);
  return address;
}

void* on_memalign(std::size_t alignment, std::size_t bytes) noexcept {
  void* address = g_real.memalign(alignment, bytes);
  if (address != nullptr) allocated(NativeCall::kMalloc, address, bytes);
  return address;
}

void* on_mmap(void* wanted, std::size_t bytes, int protection, int flags, int file, off_t at) noexcept {
  void* address = g_real.mmap(wanted, bytes, protection, flags, file, at);
  // What cannot be written only reserves addresses.
  constexpr int kOther = MAP_FIXED | MAP_STACK;
  const bool is_memory = (flags & MAP_ANONYMOUS) != 0 && (flags & kOther) == 0 && (protection & PROT_WRITE) != 0;
  if (address != MAP_FAILED && is_memory) allocated(NativeCall::kMmap, address, bytes);
  return address;
}

int on_munmap(void* address, std::size_t bytes) noexcept {
  freed(address);
  return g_real.munmap(address, bytes);
}

void* on_mremap(void* before, std::size_t old_bytes, std::size_t bytes, int flags, void* wanted) noexcept {
  const bool was_sampled = g_sampled.may_have(before) && end_sampled(before);
  void* address = g_real.mremap(before, old_bytes, bytes, flags, wanted);
  if (was_sampled && address == MAP_FAILED) go_on(before);
  if (was_sampled && address != MAP_FAILED) allocated(NativeCall::kMmap, address, bytes);
  return address;
}

// Operators of an allocator that has its own. They may throw, so these are not noexcept.
template <auto kReal, class... Rest>
void* on_new(std::size_t bytes, Rest... rest) {
  void* address = (g_real.*kReal)(bytes, rest...);
  if (address != nullptr) allocated(NativeCall::kNew, address, bytes);
  return address;
}

template <auto kReal, class... Rest>
void on_delete(void* address, Rest... rest) noexcept {
  freed(address);
  (g_real.*kReal)(address, rest...);
}

using Functions = RealFunctions;
using Aligned = std::align_val_t;
using Nothrow = const std::nothrow_t&;

/// A function that is hooked.
struct Hooked {
  ImportPatch patch;
  void** real;
  void* address = nullptr;     ///< of the function, as another object may have it: see find_real()
  bool is_seen_below = false;  ///< it calls malloc through a slot, so that it is seen there
};

template <class Function>
void** slot_of(Function*& function) noexcept {
  return reinterpret_cast<void**>(&function);
}

// By the first two characters of the names, as patch_imports() has it. Mangled names: new, new[], delete, delete[].
constexpr std::size_t kHooked = 26;
Hooked g_hooked[kHooked] = {
    {{"malloc", pointer(on_malloc), nullptr}, slot_of(g_real.malloc)},
    {{"calloc", pointer(on_calloc), nullptr}, slot_of(g_real.calloc)},
    {{"realloc", pointer(on_realloc), nullptr}, slot_of(g_real.realloc)},
    {{"free", pointer(on_free), nullptr}, slot_of(g_real.free)},
    {{"cfree", pointer(on_free), nullptr}, slot_of(g_real.free)},
    {{"posix_memalign", pointer(on_posix_memalign), nullptr}, slot_of(g_real.posix_memalign)},
    {{"aligned_alloc", pointer(on_aligned_alloc), nullptr}, slot_of(g_real.aligned_alloc)},
    {{"memalign", pointer(on_memalign), nullptr}, slot_of(g_real.memalign)},
    {{"mmap", pointer(on_mmap), nullptr}, slot_of(g_real.mmap)},
    {{"mmap64", pointer(on_mmap), nullptr}, slot_of(g_real.mmap)},
    {{"munmap", pointer(on_munmap), nullptr}, slot_of(g_real.munmap)},
    {{"mremap", pointer(on_mremap), nullptr}, slot_of(g_real.mremap)},
    {{"_Znwm", pointer(on_new<&Functions::make>), nullptr}, slot_of(g_real.make)},
    {{"_Znam", pointer(on_new<&Functions::make_array>), nullptr}, slot_of(g_real.make_array)},
    {{"_ZnwmRKSt9nothrow_t", pointer(on_new<&Functions::make_nothrow, Nothrow>), nullptr},
     slot_of(g_real.make_nothrow)},
    {{"_ZnamRKSt9nothrow_t", pointer(on_new<&Functions::make_array_nothrow, Nothrow>), nullptr},
     slot_of(g_real.make_array_nothrow)},
    {{"_ZnwmSt11align_val_t", pointer(on_new<&Functions::make_aligned, Aligned>), nullptr},
     slot_of(g_real.make_aligned)},
    {{"_ZnamSt11align_val_t", pointer(on_new<&Functions::make_array_aligned, Aligned>), nullptr},
     slot_of(g_real.make_array_aligned)},
    {{"_ZdlPv", pointer(on_delete<&Functions::end>), nullptr}, slot_of(g_real.end)},
    {{"_ZdaPv", pointer(on_delete<&Functions::end_array>), nullptr}, slot_of(g_real.end_array)},
    {{"_ZdlPvm", pointer(on_delete<&Functions::end_sized, std::size_t>), nullptr}, slot_of(g_real.end_sized)},
    {{"_ZdaPvm", pointer(on_delete<&Functions::end_array_sized, std::size_t>), nullptr},
     slot_of(g_real.end_array_sized)},
    {{"_ZdlPvSt11align_val_t", pointer(on_delete<&Functions::end_aligned, Aligned>), nullptr},
     slot_of(g_real.end_aligned)},
    {{"_ZdaPvSt11align_val_t", pointer(on_delete<&Functions::end_array_aligned, Aligned>), nullptr},
     slot_of(g_real.end_array_aligned)},
    {{"_ZdlPvmSt11align_val_t", pointer(on_delete<&Functions::end_sized_aligned, std::size_t, Aligned>), nullptr},
     slot_of(g_real.end_sized_aligned)},
    {{"_ZdaPvmSt11align_val_t", pointer(on_delete<&Functions::end_array_sized_aligned, std::size_t, Aligned>), nullptr},
     slot_of(g_real.end_array_sized_aligned)},
};

constinit std::uintptr_t g_allocator = 0;    ///< base of the object that has malloc
constinit std::uintptr_t g_c_library = 0;    ///< base of the C library
constinit std::uintptr_t g_interpreter = 0;  ///< base of the object that has CPython's allocator; 0: none

std::uintptr_t object_of(const void* address) noexcept {
  Dl_info info{};
  return address != nullptr && dladdr(address, &info) != 0 ? reinterpret_cast<std::uintptr_t>(info.dli_fbase) : 0;
}

/// True if `address` is only a program's way to a function of another object. A program that takes the address of an
/// imported function, and was linked to be loaded at fixed addresses, gives that address to all objects.
bool leads_elsewhere(const void* address) noexcept {
  Dl_info info{};
  const ElfW(Sym)* symbol = nullptr;
  return dladdr1(address, &info, reinterpret_cast<void**>(const_cast<ElfW(Sym)**>(&symbol)), RTLD_DL_SYMENT) != 0 &&
         symbol != nullptr && symbol->st_shndx == SHN_UNDEF;
}

/// The function with this name that comes first in the program's scope; nullptr: there is none.
void* find_real(const char* symbol) noexcept {
  void* const found = dlsym(RTLD_DEFAULT, symbol);
  if (found == nullptr || !leads_elsewhere(found)) return found;
  link_map* map = nullptr;
  void* const program = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
  if (program == nullptr || dlinfo(program, RTLD_DI_LINKMAP, &map) != 0) return nullptr;
  for (map = map->l_next; map != nullptr; map = map->l_next) {
    void* const object = map->l_name != nullptr ? dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    void* const own = object != nullptr ? dlsym(object, symbol) : nullptr;
    if (object_of(own) == map->l_addr) return own;
  }
  return nullptr;
}

/// Finds what the hooks call. False if an allocator's part is missing.
bool find_functions() noexcept {
  for (Hooked& each : g_hooked) {
    each.address = dlsym(RTLD_DEFAULT, each.patch.symbol);
    if (*each.real == nullptr) *each.real = find_real(each.patch.symbol);
  }
  g_allocator = object_of(pointer(g_real.malloc));
  g_c_library = object_of(pointer(&fopen));
  g_interpreter = object_of(dlsym(RTLD_DEFAULT, "PyObject_Malloc"));
  for (Hooked& each : g_hooked) {
    const bool is_operator = each.patch.symbol[0] == '_';
    each.is_seen_below = is_operator && object_of(*each.real) != g_allocator;
  }
  return g_real.malloc != nullptr && g_real.calloc != nullptr && g_real.realloc != nullptr && g_real.free != nullptr &&
         g_real.mmap != nullptr && g_real.munmap != nullptr && g_real.mremap != nullptr;
}

constexpr char kOwnName[] = "libdcmt_";
const ImportPatch g_lookup = {"dlsym", pointer(dcmt_native_dlsym), nullptr};

bool is_mapping(const ImportPatch& patch) noexcept {
  return patch.replacement == pointer(on_mmap) || patch.replacement == pointer(on_munmap) ||
         patch.replacement == pointer(on_mremap);
}

/// Called under the loader's lock.
bool wants(const elf::FoundSlot& slot) noexcept {
  if (strncmp(slot.object, kOwnName, strlen(kOwnName)) == 0) return false;
  // An allocator's own calls are not the program's.
  if (slot.base == g_allocator && g_allocator != g_c_library) return false;
  const auto value = reinterpret_cast<std::uintptr_t>(slot.value);
  // The loader binds the slot at the first call: to the first function in the program's scope.
  const bool is_unbound =
      value >= slot.base && value < slot.end && !slot.in_data && (!slot.defined_here || slot.base == g_c_library);
  if (&slot.patch == &g_lookup) return !slot.in_data;
  const auto& hooked = reinterpret_cast<const Hooked&>(slot.patch);
  static_assert(offsetof(Hooked, patch) == 0);
  if (*hooked.real == nullptr || hooked.is_seen_below) return false;
  // Python's small objects are counted by readings of the memory.
  if (is_mapping(slot.patch) && slot.base == g_interpreter) return false;
  // Blocks of torch's allocator have records of their own.
  if (slot.patch.replacement == pointer(on_posix_memalign) && strncmp(slot.object, "libc10.so", 9) == 0) return false;
  // Anything else is another allocator's function, or another tool's: memory of one must not get to the other.
  return slot.value == *hooked.real || slot.value == hooked.address || is_unbound;
}

constexpr elf::SlotChoice kChoice{wants};

/// Only one thread at a time changes slots.
constinit std::atomic<bool> g_patching{false};
constinit std::atomic<bool> g_may_patch{false};

std::size_t patch() noexcept {
  std::span<const ImportPatch> groups[kHooked + 1];
  for (std::size_t i = 0; i < kHooked; ++i) groups[i] = {&g_hooked[i].patch, 1};
  groups[kHooked] = {&g_lookup, 1};
  const elf::Patched patched = elf::patch_imports(groups, &kChoice);
  if (patched.postponed) agent::note_objects_changed();
  return patched.written;
}

}  // namespace

const char* hook_allocators() noexcept {
  if (!find_functions()) return "allocations of C and C++ are not sampled: this C library's allocator is not found";
  dcmt_native_real_dlsym = agent::loader_functions_to_import().symbol;
  if (dcmt_native_real_dlsym == nullptr) dcmt_native_real_dlsym = dlsym(RTLD_DEFAULT, "dlsym");
  g_may_patch.store(true, std::memory_order_release);
  if (patch() == 0) return "allocations of C and C++ are not sampled: no import slot could be redirected";
  if (!agent::gate_open()) {
    // Other threads are running: a thread that was binding a slot at that time has overwritten our hook.
    constexpr timespec kUntilBound{0, 10'000'000};
    nanosleep(&kUntilBound, nullptr);
    elf::inspect_all_again();
    patch();
  }
  return nullptr;
}

void hook_new_objects() noexcept {
  const agent::Inside inside;
  if (g_patching.exchange(true, std::memory_order_acquire)) return agent::note_objects_changed();
  if (g_may_patch.load(std::memory_order_acquire)) {
    agent::prepare_native_stacks();
    patch();
  }
  g_patching.store(false, std::memory_order_release);
}

void unhook_allocators() noexcept {
  g_may_patch.store(false, std::memory_order_release);
  // A thread that is still patching has the ledger.
  constexpr timespec kPause{0, 1'000'000};
  for (int i = 0; i < 100 && g_patching.load(std::memory_order_acquire); ++i) nanosleep(&kPause, nullptr);
  elf::undo();
}

}  // namespace dcmt::native_provider

extern "C" __attribute__((visibility("hidden"))) void* dcmt_native_symbol(void* handle, const char* symbol) {
  using namespace dcmt;
  using namespace dcmt::native_provider;
  if (symbol == nullptr || !agent::recording()) return nullptr;
  const agent::Inside inside;
  hook_new_objects();
  if (handle == RTLD_NEXT) return nullptr;
  for (const Hooked& each : g_hooked) {
    if (strcmp(symbol, each.patch.symbol) != 0) continue;
    if (each.is_seen_below) return nullptr;
    const auto real = reinterpret_cast<void* (*)(void*, const char*)>(dcmt_native_real_dlsym);
    void* const found = real(handle, symbol);
    return found != nullptr && (found == *each.real || found == each.address) ? each.patch.replacement : nullptr;
  }
  return nullptr;
}
