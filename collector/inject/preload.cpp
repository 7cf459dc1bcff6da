// The entry points of the preloaded agent: process start, and the time after a Python extension was loaded.
#include <dlfcn.h>
#include <string.h>

#include "collector/agent/provider.h"
#include "collector/agent/start.h"
#include "collector/inject/standby.h"
#include "trace/arch/arch.h"

namespace {
void begin_if_torch_is_here() noexcept {
  dcmt::agent::start_if_torch_is_here();
  if (dcmt::agent::standby_begins_here()) dcmt::agent::begin_standby();
}
}  // namespace

extern "C" {

// Written and read by trampolines.*.S.
enum : int { kIdle = 0, kUnnoticed = 1, kNoticed = 2 };
__attribute__((visibility("hidden"))) int dcmt_loader_was_busy = kIdle;
__attribute__((visibility("hidden"))) void* dcmt_real_dlopen = nullptr;
__attribute__((visibility("hidden"))) void* dcmt_real_dlsym = nullptr;

__attribute__((visibility("hidden"))) void dcmt_resolve_real_functions() {
  // dlvsym is not replaced by us. The oldest version exists in every glibc of the architecture.
  dcmt_real_dlopen = dlvsym(RTLD_NEXT, "dlopen", dcmt::arch::kOldestGlibc);
  dcmt_real_dlsym = dlvsym(RTLD_NEXT, "dlsym", dcmt::arch::kOldestGlibc);
}

/// Called before dlsym. Python requests PyInit_* right after it has loaded an extension, on the importing thread,
/// outside the loader: that is the earliest safe time at which torch can be complete. A user of CUPTI may request a
/// function without loading anything: if the library is loaded already, it uses RTLD_NOLOAD.
__attribute__((visibility("hidden"))) void dcmt_before_symbol(void*, const char* symbol) {
  if (symbol != nullptr && strncmp(symbol, "cuptiSubscribe", 14) == 0) dcmt::agent::make_way_for_cupti_user();
  if (dcmt_loader_was_busy == kIdle) return;
  if (dcmt_loader_was_busy == kUnnoticed) {
    dcmt_loader_was_busy = kNoticed;
    dcmt::agent::note_objects_changed();
  }
  if (symbol == nullptr) return;
  if (strncmp(symbol, "PyInit_", 7) != 0) return;
  dcmt_loader_was_busy = kIdle;
  begin_if_torch_is_here();
}

/// The agent's own functions. Inside it, no other library's functions precede them.
__attribute__((visibility("hidden"))) void* dcmt_own_dlopen() { return reinterpret_cast<void*>(&dlopen); }
__attribute__((visibility("hidden"))) void* dcmt_own_dlsym() { return reinterpret_cast<void*>(&dlsym); }

using StartMain = int (*)(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);

/// For programs linked with libtorch: when the C runtime is entered, all libraries are initialised, and main has not
/// begun.
__attribute__((visibility("default"))) int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv,
                                                             void (*init)(), void (*fini)(), void (*rtld_fini)(),
                                                             void* stack_end) {
  begin_if_torch_is_here();
  // Programs built against glibc 2.34 or newer pass no init function, and only the newer version accepts that.
  void* real = init == nullptr ? dlvsym(RTLD_NEXT, "__libc_start_main", "GLIBC_2.34") : nullptr;
  if (real == nullptr) real = dlvsym(RTLD_NEXT, "__libc_start_main", dcmt::arch::kOldestGlibc);
  return reinterpret_cast<StartMain>(real)(main, argc, argv, init, fini, rtld_fini, stack_end);
}

}  // extern "C"

namespace dcmt::agent {

LoaderFunctions loader_functions_to_import() noexcept {
  if (dcmt_real_dlsym == nullptr) dcmt_resolve_real_functions();
  const auto open = reinterpret_cast<void* (*)(const char*, int)>(dcmt_real_dlopen);
  const auto find = reinterpret_cast<void* (*)(void*, const char*)>(dcmt_real_dlsym);
  if (open == nullptr || find == nullptr) return {nullptr, nullptr};
  // The scope of the program, as other libraries have it. The agent's own scope, which RTLD_DEFAULT would be here,
  // begins with the agent (-Bsymbolic).
  void* const program = open(nullptr, RTLD_LAZY | RTLD_NOLOAD);
  if (program == nullptr || find(program, "dlopen") == dcmt_own_dlopen()) return {nullptr, nullptr};
  return {dcmt_own_dlopen(), dcmt_own_dlsym()};
}

}  // namespace dcmt::agent
