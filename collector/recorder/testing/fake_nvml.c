// A management library with one GPU, whose figures a test sets. Declarations as in nvml.h.
#include <string.h>

struct memory_info {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct process_info {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};

enum { kSuccess = 0, kNotFound = 6, kUnknown = 999 };

static unsigned long long used, total;
static unsigned instances;
static int fails, began;

void fake_nvml_set(unsigned long long new_used, unsigned long long new_total, unsigned new_instances, int new_fails) {
  used = new_used, total = new_total, instances = new_instances, fails = new_fails;
}
int fake_nvml_began(void) { return began; }

int nvmlInit_v2(void) {
  ++began;
  return kSuccess;
}
int nvmlShutdown(void) {
  --began;
  return kSuccess;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  static int only;
  *device = &only;
  return strcmp(uuid, "GPU-000102ff-0405-0607-0809-0a0b0c0d0e0f") == 0 ? kSuccess : kNotFound;
}
int nvmlDeviceGetMemoryInfo_v2(void* device, struct memory_info* memory) {
  (void)device;
  if (fails || memory->version != (sizeof *memory | 2u << 24)) return kUnknown;
  memory->total = total + (600u << 20), memory->reserved = 600u << 20, memory->free = total - used, memory->used = used;
  return kSuccess;
}
int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  (void)device;
  *current = *pending = instances;
  return kSuccess;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, struct process_info* all) {
  (void)device;
  const struct process_info only = {4321, 7u << 20, ~0u, ~0u};
  if (*count < 1) return kUnknown;
  *count = 1;
  all[0] = only;
  return kSuccess;
}
