#include "collector/recorder/target/gpu_memory.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

namespace dcmt::recorder {
namespace {

// Declarations of nvml.h, whose values do not change between drivers: a changed structure gets a new version.
using Handle = void*;
constexpr int kSuccess = 0;
constexpr unsigned kMigIsOn = 1;

constexpr std::size_t kMostProcesses = 256;
constexpr unsigned long long kNotAvailable = ~0ULL;

/// The driver lists processes by their numbers in the first namespace, where processes of a container have other ones.
bool are_pids_those_of_the_driver() {
  constexpr ino_t kFirstNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO of Linux
  struct stat status {};
  return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino == kFirstNamespace;
}

}  // namespace

struct GpuMemory::Functions {
  struct MemoryInfo {
    unsigned version = sizeof(MemoryInfo) | 2U << 24U;
    unsigned long long total = 0, reserved = 0, free = 0, used = 0;
  };
  static_assert(sizeof(MemoryInfo) == 40);

  struct ProcessInfo {
    unsigned pid = 0;
    unsigned long long used = 0;
    unsigned gpu_instance = 0, compute_instance = 0;
  };
  static_assert(sizeof(ProcessInfo) == 24);

  void* library = nullptr;
  int (*begin)() = nullptr;
  int (*end)() = nullptr;
  int (*find)(const char*, Handle*) = nullptr;
  int (*memory)(Handle, MemoryInfo*) = nullptr;
  int (*instances)(Handle, unsigned* current, unsigned* pending) = nullptr;
  int (*processes)(Handle, unsigned* count, ProcessInfo*) = nullptr;
  bool has_begun = false;
  const bool has_pids = are_pids_those_of_the_driver();

  ~Functions() {
    if (has_begun) end();
    if (library != nullptr) dlclose(library);
  }

  template <class Function>
  bool bind(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  }

  [[nodiscard]] std::optional<std::int64_t> used_by(Handle gpu, pid_t pid) const {
    if (!has_pids) return std::nullopt;
    std::array<ProcessInfo, kMostProcesses> all;
    unsigned count = all.size();
    if (processes(gpu, &count, all.data()) != kSuccess) return std::nullopt;
    const auto last = all.begin() + std::min<std::ptrdiff_t>(count, kMostProcesses);
    const auto found = std::find_if(all.begin(), last, [pid](const ProcessInfo& each) {
      return each.pid == static_cast<unsigned>(pid) && each.used != kNotAvailable;
    });
    return found == last ? std::nullopt : std::optional(static_cast<std::int64_t>(found->used));
  }
};

GpuMemory::GpuMemory(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}
GpuMemory::~GpuMemory() = default;
GpuMemory::GpuMemory(GpuMemory&&) noexcept = default;
GpuMemory& GpuMemory::operator=(GpuMemory&&) noexcept = default;

Expected<GpuMemory> GpuMemory::open(const char* library) {
  auto functions = std::make_unique<Functions>();
  functions->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (functions->library == nullptr) return Error{ErrorCode::kCannotRecord, fmt::format("there is no {}", library)};
  const bool bound = functions->bind("nvmlInit_v2", functions->begin) &&
                     functions->bind("nvmlShutdown", functions->end) &&
                     functions->bind("nvmlDeviceGetHandleByUUID", functions->find) &&
                     functions->bind("nvmlDeviceGetMemoryInfo_v2", functions->memory) &&
                     functions->bind("nvmlDeviceGetMigMode", functions->instances) &&
                     functions->bind("nvmlDeviceGetComputeRunningProcesses_v3", functions->processes);
  if (!bound) return Error{ErrorCode::kCannotRecord, fmt::format("{} is of an old driver", library)};
  functions->has_begun = functions->begin() == kSuccess;
  if (!functions->has_begun) return Error{ErrorCode::kCannotRecord, fmt::format("{} finds no driver", library)};
  return GpuMemory(std::move(functions));
}

Expected<GpuUse> GpuMemory::use_of(const std::string& uuid, pid_t pid) const {
  Handle gpu = nullptr;
  if (const int code = functions_->find(uuid.c_str(), &gpu); code != kSuccess) {
    return Error{ErrorCode::kIo, fmt::format("the driver does not find {} (error {})", uuid, code)};
  }
  unsigned current = 0;
  unsigned pending = 0;
  if (functions_->instances(gpu, &current, &pending) == kSuccess && current == kMigIsOn) {
    return Error{ErrorCode::kCannotRecord, fmt::format("{} is divided into instances (MIG)", uuid)};
  }
  Functions::MemoryInfo memory;
  if (const int code = functions_->memory(gpu, &memory); code != kSuccess) {
    return Error{ErrorCode::kIo, fmt::format("the driver does not count the memory of {} (error {})", uuid, code)};
  }
  return GpuUse{static_cast<std::int64_t>(memory.used), static_cast<std::int64_t>(memory.used + memory.free),
                functions_->used_by(gpu, pid)};
}

}  // namespace dcmt::recorder
