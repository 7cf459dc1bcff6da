#include "collector/agent/load_providers.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "collector/agent/cpp_stacks.h"
#include "collector/agent/provider.h"
#include "collector/agent/providers.h"
#include "collector/agent/remedy.h"
#include "trace/base/build_id.h"

namespace dcmt::agent {
namespace {

constexpr char kTorchProvider[] = "libdcmt_torch.so";

struct TorchVersion {
  unsigned major, minor;
};

/// The version in torch itself, one byte for each part, major part first; zeros: unknown.
TorchVersion version_of_torch() noexcept {
  void* cpu = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
  void* function = cpu != nullptr ? dlsym(cpu, "aoti_torch_abi_version") : nullptr;
  const std::uint64_t version = function != nullptr ? reinterpret_cast<std::uint64_t (*)()>(function)() : 0;
  return {static_cast<unsigned>(version >> 56 & 0xff), static_cast<unsigned>(version >> 48 & 0xff)};
}

struct BuildId {
  char text[kMaxBuildIdText];
};

int find_build_id(dl_phdr_info* object, std::size_t, void* found) noexcept {
  const char* name = strrchr(object->dlpi_name, '/');
  if (name == nullptr || strcmp(name + 1, "libtorch_cpu.so") != 0) return 0;
  auto& id = *static_cast<BuildId*>(found);
  for (int i = 0; i < object->dlpi_phnum && id.text[0] == '\0'; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    build_id_in(reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz, id.text);
  }
  return 1;
}

/// Loads a provider; true on success. On failure, `why` has the reason.
bool load(const char* path, char (&why)[256], void (*start_by)(void (*start)()) = nullptr) noexcept {
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* error = dlerror();  // copied, because the next call of the loader overwrites its text
    snprintf(why, sizeof why, "%s", error != nullptr ? error : "no reason given");
    return false;
  }
  auto start = reinterpret_cast<void (*)()>(dlsym(handle, "dcmt_provider_start"));
  if (start != nullptr && start_by != nullptr) {
    start_by(start);
  } else if (start != nullptr) {
    start();
  }
  return true;
}

void load_torch_provider(const char* libraries, const char* prepared) noexcept {
  const TorchVersion version = version_of_torch();
  char path[4096];
  BuildId id{};
  dl_iterate_phdr(find_build_id, &id);
  bool there = false;
  if (prepared != nullptr && *prepared != '\0' && id.text[0] != '\0') {
    snprintf(path, sizeof path, "%s/%s/%s", prepared, id.text, kTorchProvider);
    there = access(path, R_OK) == 0;
  }
  if (!there) {
    snprintf(path, sizeof path, "%s/torch-%u.%u/%s", libraries, version.major, version.minor, kTorchProvider);
    there = access(path, R_OK) == 0;
  }
  char text[640];
  char why[256];
  if (!there && version.major == 0) {
    snprintf(text, sizeof text,
             "this torch does not say its version; it is older than 2.10, for which there is no provider: "
             "nothing is recorded in this process");
    refuse(text);
  } else if (!there) {
    snprintf(text, sizeof text,
             "this installation has no provider for torch %u.%u, which runs here: nothing is recorded in "
             "this process. %s",
             version.major, version.minor, kPrepareProvider);
    refuse(text);
  } else if (!load(path, why)) {
    // The provider needs a symbol that is missing: this is another build of torch, though its version is the same.
    snprintf(text, sizeof text,
             "%s was not built for the torch %u.%u that runs here: nothing is recorded in this process. %s. "
             "It does not load: %s",
             kTorchProvider, version.major, version.minor, kPrepareProvider, why);
    refuse(text);
  }
}

void load_optional(const char* path, const char* name, void (*start_by)(void (*start)()) = nullptr) noexcept {
  char why[256];
  if (load(path, why, start_by)) return;
  char text[512];
  snprintf(text, sizeof text, "%s does not load here: %s", name, why);
  diagnose(wire::DiagnosticCode::kProviderOff, text);
}

void load_python_provider(const char* libraries, void (*start_by)(void (*start)())) noexcept {
  // The text begins with the version, such as "3.12.1".
  const auto python_version = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, "Py_GetVersion"));
  unsigned major = 0;
  unsigned minor = 0;
  if (python_version == nullptr || sscanf(python_version(), "%u.%u", &major, &minor) != 2) return;
  char path[4096];
  snprintf(path, sizeof path, "%s/python-%u.%u/libdcmt_python.so", libraries, major, minor);
  if (access(path, R_OK) == 0) return load_optional(path, "libdcmt_python.so", start_by);
  char text[160];
  snprintf(text, sizeof text,
           "this installation has no provider for CPython %u.%u: Python stacks and variables are not recorded", major,
           minor);
  diagnose(wire::DiagnosticCode::kProviderOff, text);
}

/// Maps the pages of our own code and data now, so that no hook has a page fault. A kernel before 5.14 does not support
/// this; then the first hooks are slower.
int populate_if_ours(dl_phdr_info* object, std::size_t, void* /*nothing*/) noexcept {
  const char* name = strrchr(object->dlpi_name, '/');
  if (name == nullptr || strncmp(name + 1, "libdcmt_", strlen("libdcmt_")) != 0) return 0;
  const auto page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t from = (object->dlpi_addr + segment.p_vaddr) & ~(page_size - 1);
    const std::uintptr_t to = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    const int how = (segment.p_flags & PF_W) != 0 ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    // Page by page, because the first pages of a writable segment can be read-only after relocation.
    for (std::uintptr_t page = from; page < to; page += page_size)
      madvise(reinterpret_cast<void*>(page), page_size, how);
  }
  return 0;
}

}  // namespace

bool is_loaded(const char* library) noexcept {
  void* handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

bool has_cupti() noexcept { return is_loaded("libcupti.so.13") || is_loaded("libcupti.so.12"); }

void load_providers(const char* libraries, const char* prepared, void (*start_python)(void (*start)()), bool kernels,
                    bool native) noexcept {
  load_torch_provider(libraries, prepared);
  if (refused()) return;
  if (dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState") != nullptr) {
    load_python_provider(libraries, start_python);
  } else {
    begin_cpp_stacks();
  }
  if (kernels && has_cupti()) {
    char path[4096];
    snprintf(path, sizeof path, "%s/libdcmt_cuda.so", libraries);
    load_optional(path, "libdcmt_cuda.so");
  }
  if (native) {
    char path[4096];
    snprintf(path, sizeof path, "%s/libdcmt_native.so", libraries);
    load_optional(path, "libdcmt_native.so");
  }
  dl_iterate_phdr(populate_if_ours, nullptr);
}

}  // namespace dcmt::agent
