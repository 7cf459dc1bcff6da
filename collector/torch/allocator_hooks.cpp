#include "collector/torch/allocator_hooks.h"

#include <dlfcn.h>
#include <malloc.h>

#include "collector/agent/provider.h"
#include "collector/torch/lifetime_hooks.h"
#include "collector/torch/torch_thread.h"

namespace dcmt::torch_provider {
namespace {

using AllocCpu = void* (*)(std::size_t);
using FreeCpu = void (*)(void*);
/// reportMemoryUsageToProfiler(address, bytes or their negative, two totals, device: type and index, a byte each)
using ReportMemory = void (*)(void*, std::int64_t, std::size_t, std::size_t, std::uint16_t);
/// reportOutOfMemoryToProfiler(bytes asked, two totals, device)
using ReportOutOfMemory = void (*)(std::int64_t, std::size_t, std::size_t, std::uint16_t);
/// ProfiledCPUMemoryReporter::OutOfMemory(this, bytes)
using CpuOutOfMemory = void (*)(void*, std::size_t);
/// cudaMemGetInfo(free, total); 0: no error
using MemoryOfDevice = int (*)(std::size_t*, std::size_t*);

constexpr char kAllocCpu[] = "_ZN3c109alloc_cpuEm";
constexpr char kFreeCpu[] = "_ZN3c108free_cpuEPv";
constexpr char kReportMemory[] = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";
constexpr char kReportOutOfMemory[] = "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE";
constexpr char kCpuOutOfMemory[] = "_ZN3c1025ProfiledCPUMemoryReporter11OutOfMemoryEm";

AllocCpu g_alloc_cpu;
FreeCpu g_free_cpu;
ReportMemory g_report_memory;
ReportOutOfMemory g_report_out_of_memory;
CpuOutOfMemory g_cpu_out_of_memory;
MemoryOfDevice g_memory_of_device;

/// @param device  as in BlockRecord  @param small  in `lifetimes`, a block that counts for the curve only: not worth
/// the records of the operators around it
void write_block(wire::RecordType type, std::uint32_t device, const void* address, std::uint64_t bytes,
                 bool small) noexcept {
  if (!small) write_running_ops();
  // The size of a block that is freed is not known to the hook, so in `lifetimes` the storage's death has the stack.
  const bool with_stack = agent::full_detail() || (!small && type == wire::RecordType::kBlockAlloc);
  const std::uint64_t stack = with_stack ? agent::python_stack() : 0;
  auto* record = static_cast<wire::BlockRecord*>(agent::begin_record(type, sizeof(wire::BlockRecord), device));
  if (record == nullptr) return;
  record->address = reinterpret_cast<std::uint64_t>(address);
  record->bytes = bytes;
  record->stack = stack;
  agent::commit_record(record);
}

bool is_small(std::size_t bytes) noexcept { return !agent::full_detail() && bytes < kFollowedBytes; }

void* on_alloc_cpu(std::size_t bytes) {
  void* address = g_alloc_cpu(bytes);
  if (address != nullptr && agent::recording()) {
    agent::Inside inside;
    write_block(wire::RecordType::kBlockAlloc, wire::kCpuDevice, address, bytes, is_small(bytes));
  } else {
    agent::note_unrecorded_allocation();
  }
  return address;
}

void on_free_cpu(void* address) {
  if (address != nullptr && agent::recording()) {
    agent::Inside inside;
    write_block(wire::RecordType::kBlockFree, wire::kCpuDevice, address, 0, is_small(malloc_usable_size(address)));
  }
  g_free_cpu(address);
}

// Files and shared memory that torch maps; it tells its profiler of them and nobody else.
void on_report_memory(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                      std::uint16_t device) {
  constexpr std::uint16_t kTypeMask = 0xff;
  const bool is_cpu = (device & kTypeMask) == 0;
  if (is_cpu && address != nullptr && bytes != 0 && agent::recording()) {
    agent::Inside inside;
    const auto type = bytes > 0 ? wire::RecordType::kBlockAlloc : wire::RecordType::kBlockFree;
    write_block(type, wire::kCpuDevice, address, bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0, false);
  }
  g_report_memory(address, bytes, allocated, reserved, device);
}

// Every block that torch's CUDA allocator hands out or takes back, while it holds its lock. `bytes` is the block's
// size, which is what memory_stats counts as allocated; a free has it too.
void on_report_cuda_memory(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                           std::uint16_t device) {
  if (address != nullptr && bytes != 0 && agent::recording()) {
    agent::Inside inside;
    const auto size = static_cast<std::uint64_t>(bytes > 0 ? bytes : -bytes);
    const auto type = bytes > 0 ? wire::RecordType::kBlockAlloc : wire::RecordType::kBlockFree;
    write_block(type, wire::cuda_device(device >> 8), address, bytes > 0 ? size : 0, is_small(size));
  }
  g_report_memory(address, bytes, allocated, reserved, device);
}

void write_out_of_memory(std::uint32_t device, std::uint64_t requested, std::uint64_t allocated, std::uint64_t reserved,
                         std::uint64_t free, std::uint64_t total) noexcept {
  agent::Inside inside;
  const std::uint64_t stack = agent::python_stack();
  write_running_ops();
  auto* record = static_cast<wire::OutOfMemoryRecord*>(
      agent::begin_record(wire::RecordType::kOutOfMemory, sizeof(wire::OutOfMemoryRecord), device));
  if (record == nullptr) return;
  record->requested = requested;
  record->allocated = allocated;
  record->reserved = reserved;
  record->free = free;
  record->total = total;
  record->stack = stack;
  agent::commit_record(record);
}

// Once for a request that the CUDA allocator gives up, after it has handed back to the device what it could and tried
// again; its lock is held. It has asked CUDA for the free bytes itself just before, in the same way.
void on_cuda_out_of_memory(std::int64_t requested, std::size_t allocated, std::size_t reserved, std::uint16_t device) {
  if (agent::recording()) {
    std::size_t free = 0;
    std::size_t total = 0;
    if (g_memory_of_device == nullptr || g_memory_of_device(&free, &total) != 0) free = total = 0;
    write_out_of_memory(wire::cuda_device(device >> 8), static_cast<std::uint64_t>(requested), allocated, reserved,
                        free, total);
  }
  g_report_out_of_memory(requested, allocated, reserved, device);
}

// The CPU allocator: what the system refused. It counts nothing itself.
void on_cpu_out_of_memory(void* reporter, std::size_t requested) {
  if (agent::recording()) write_out_of_memory(wire::kCpuDevice, requested, 0, 0, 0, 0);
  g_cpu_out_of_memory(reporter, requested);
}

const ImportPatch kImports[] = {
    {kAllocCpu, pointer(on_alloc_cpu), nullptr},
    {kFreeCpu, pointer(on_free_cpu), nullptr},
    {kCpuOutOfMemory, pointer(on_cpu_out_of_memory), "libc10.so"},
    {kReportMemory, pointer(on_report_memory), "libtorch_cpu.so"},
    {kReportMemory, pointer(on_report_cuda_memory), "libc10_cuda.so"},
    {kReportOutOfMemory, pointer(on_cuda_out_of_memory), "libc10_cuda.so"},
};

}  // namespace

bool find_allocators(void* c10) noexcept {
  return find(c10, kAllocCpu, g_alloc_cpu) && find(c10, kFreeCpu, g_free_cpu) &&
         find(c10, kReportMemory, g_report_memory) && find(c10, kReportOutOfMemory, g_report_out_of_memory) &&
         find(c10, kCpuOutOfMemory, g_cpu_out_of_memory);
}

void find_cuda_allocator() noexcept {
  if (g_memory_of_device != nullptr) return;
  // CUDA's runtime is one of the libraries it was linked with, under a name that changes with the version.
  void* cuda = dlopen("libc10_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
  if (cuda != nullptr) find(cuda, "cudaMemGetInfo", g_memory_of_device);
}

std::span<const ImportPatch> allocator_imports() noexcept { return kImports; }

}  // namespace dcmt::torch_provider
