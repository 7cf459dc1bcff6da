#include "collector/torch/hooks/allocator_hooks.h"

#include <string.h>

#include <atomic>

#include "collector/agent/provider.h"
#include "collector/torch/facts/symbols.h"
#include "collector/torch/hooks/allocator_trace.h"
#include "collector/torch/keys/proof.h"
#include "collector/torch/keys/release_keys.h"
#include "collector/torch/records/block_records.h"
#include "collector/torch/records/small_blocks.h"
#include "collector/torch/state/cpu_allocator.h"
#include "collector/torch/state/fences.h"
#include "collector/torch/state/torch_thread.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::torch_provider {
namespace {

using elf::find;
using elf::ImportPatch;
using elf::loaded_library;
using elf::pointer;

using AllocCpu = void* (*)(std::size_t);
using FreeCpu = void (*)(void*);
/// reportMemoryUsageToProfiler(address, bytes (negative for a free), two totals, device: type and index, a byte each)
using ReportMemory = void (*)(void*, std::int64_t, std::size_t, std::size_t, std::uint16_t);
/// reportOutOfMemoryToProfiler(requested bytes, two totals, device)
using ReportOutOfMemory = void (*)(std::int64_t, std::size_t, std::size_t, std::uint16_t);
/// ProfiledCPUMemoryReporter::OutOfMemory(this, bytes)
using CpuOutOfMemory = void (*)(void*, std::size_t);
/// cudaMemGetInfo(free, total); 0: no error
using MemoryOfDevice = int (*)(std::size_t*, std::size_t*);
/// cuDeviceGet(device, number) and cuDeviceGetUuid(16 bytes, device) of the driver, which has no last error that a
/// program could find; 0: no error
using DriverDevice = int (*)(int*, int);
using UuidOfDevice = int (*)(std::uint8_t*, int);

AllocCpu g_alloc_cpu;
FreeCpu g_free_cpu;
ReportMemory g_report_memory;
ReportOutOfMemory g_report_out_of_memory;
CpuOutOfMemory g_cpu_out_of_memory;
MemoryOfDevice g_memory_of_device;
DriverDevice g_driver_device;
std::atomic<UuidOfDevice> g_uuid_of_device;  ///< set last

void write_begin(std::uint32_t device, const void* address, std::uint64_t bytes, bool small) noexcept {
  if (const TorchThread* thread = torch_thread(); thread != nullptr && thread->pending_count != 0 && !small) {
    // Generated code allocates without an operator. CUDA's allocator holds its lock here, so no census is possible.
    settle_releases(device == wire::kCpuDevice ? Settling::kWithCensus : Settling::kNoCensus);
  }
  write_block_begin(device, address, bytes, small);
}

bool is_small(std::size_t bytes) noexcept { return !agent::full_detail() && bytes < kFollowedBytes; }

/// True if a new block counts only for the curve.
bool is_for_sums(std::size_t bytes) noexcept { return !agent::full_detail() && !agent::follows_size(bytes); }

void write_alloc_cpu(void* address, std::size_t bytes) noexcept {
  if (address != nullptr && agent::recording()) {
    agent::Inside inside;
    if (!add_small_block(wire::kCpuDevice, address, bytes)) {
      write_begin(wire::kCpuDevice, address, bytes, is_for_sums(bytes));
    }
  } else {
    agent::note_unrecorded_allocation();
  }
}

void* on_alloc_cpu(std::size_t bytes) {
  void* address = g_alloc_cpu(bytes);
  write_alloc_cpu(address, bytes);
  return address;
}

void on_free_cpu(void* address) {
  if (address != nullptr && agent::recording()) {
    agent::Inside inside;
    // An allocator's block may be larger than requested, but not by that much.
    const std::size_t usable = usable_bytes(address);
    const bool may_be_small = is_small(usable / 2);
    if (!may_be_small || !remove_small_block(wire::kCpuDevice, address)) {
      write_block_end(wire::kCpuDevice, address, 0, usable != 0 && is_small(usable));
    }
  }
  g_free_cpu(address);
}

// Under `prove`: a fence closes whole pages, so that each block has its own.
void* on_alloc_cpu_to_prove(std::size_t bytes) {
  void* address = alloc_pages(bytes);
  if (address == nullptr) return on_alloc_cpu(bytes);
  write_alloc_cpu(address, bytes);
  return address;
}

void on_free_cpu_to_prove(void* address) {
  open_fence(reinterpret_cast<std::uint64_t>(address));
  on_free_cpu(address);
}

// Files and shared memory that torch maps: only the profiler's report announces them.
void on_report_memory(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                      std::uint16_t device) {
  constexpr std::uint16_t kTypeMask = 0xff;
  const bool is_cpu = (device & kTypeMask) == 0;
  if (is_cpu && address != nullptr && bytes != 0 && agent::recording()) {
    agent::Inside inside;
    if (bytes > 0) {
      write_begin(wire::kCpuDevice, address, static_cast<std::uint64_t>(bytes), false);
    } else {
      write_block_end(wire::kCpuDevice, address, 0, false);
    }
  }
  g_report_memory(address, bytes, allocated, reserved, device);
}

// State of each device's CUDA allocator. It is changed under that allocator's lock.
constexpr std::size_t kDevices = 256;
enum class Counting : std::uint8_t { kUnknown, kAsTorch, kOtherwise };
struct Reserved {
  std::atomic<std::uint64_t> bytes;  ///< as in the latest record
  std::atomic<bool> traced;          ///< the recorder was informed that every change is recorded
  std::atomic<Counting> counting;
  std::atomic<bool> has_uuid;  ///< the recorder has the UUID
};
constinit Reserved g_reserved[kDevices] = {};

enum class Following : std::uint32_t { kNot, kDue, kAttaching, kTraced, kNever };
constinit std::atomic<Following> g_following{Following::kNot};

bool is_traced() noexcept { return g_following.load(std::memory_order_relaxed) == Following::kTraced; }

void write_reserved(std::size_t device, std::uint64_t reserved) noexcept {
  const bool traced = is_traced();
  g_reserved[device].bytes.store(reserved, std::memory_order_relaxed);
  g_reserved[device].traced.store(traced, std::memory_order_relaxed);
  auto* record =
      static_cast<wire::ReservedRecord*>(agent::begin_record(wire::RecordType::kReserved, sizeof(wire::ReservedRecord),
                                                             wire::cuda_device(static_cast<std::uint32_t>(device))));
  if (record == nullptr) return;
  record->reserved = reserved;
  record->traced = traced ? 1 : 0;
  agent::commit_record(record);
}

/// The program loads CUDA's driver when it uses the first GPU.
void find_driver() noexcept {
  if (g_uuid_of_device.load(std::memory_order_relaxed) != nullptr) return;
  void* driver = loaded_library("libcuda.so.1");
  UuidOfDevice uuid_of_device = nullptr;
  if (driver == nullptr || !find(driver, "cuDeviceGet", g_driver_device)) return;
  if (find(driver, "cuDeviceGetUuid", uuid_of_device)) {
    g_uuid_of_device.store(uuid_of_device, std::memory_order_release);
  }
}

/// The driver has the UUIDs ready, and CUDA has begun.
void write_uuid(std::size_t device) noexcept {
  const UuidOfDevice uuid_of_device = g_uuid_of_device.load(std::memory_order_acquire);
  if (uuid_of_device == nullptr) return;
  g_reserved[device].has_uuid.store(true, std::memory_order_relaxed);
  int number = 0;
  std::uint8_t uuid[sizeof(wire::GpuRecord::uuid)] = {};
  if (g_driver_device(&number, static_cast<int>(device)) != 0 || uuid_of_device(uuid, number) != 0) return;
  auto* record = static_cast<wire::GpuRecord*>(agent::begin_record(
      wire::RecordType::kGpu, sizeof(wire::GpuRecord), wire::cuda_device(static_cast<std::uint32_t>(device))));
  if (record == nullptr) return;
  memcpy(record->uuid, uuid, sizeof uuid);
  agent::commit_record(record);
}

void write_request(std::uint32_t device, std::uint64_t address, std::uint64_t stream,
                   std::uint64_t requested) noexcept {
  auto* record = static_cast<wire::BlockRequestRecord*>(
      agent::begin_record(wire::RecordType::kBlockRequest, sizeof(wire::BlockRequestRecord), device));
  if (record == nullptr) return;
  record->address = address;
  record->stream = stream;
  record->requested = requested;
  agent::commit_record(record);
}

// The allocator's own trace. Each of its events comes before the report of the same block, on the same thread.

void on_trace_alloc(std::uint64_t address, std::uint64_t stream, std::uint64_t requested) noexcept {
  TorchThread* thread = agent::recording() ? torch_thread() : nullptr;
  if (thread == nullptr) return;
  thread->cuda_allocated = address;
  thread->cuda_stream = stream;
  thread->cuda_requested = requested;
}

void on_trace_free_requested(std::uint64_t address) noexcept {
  TorchThread* thread = agent::recording() ? torch_thread() : nullptr;
  if (thread == nullptr) return;
  thread->cuda_freed = address;
  thread->cuda_free_done = false;
}

void on_trace_free_completed(std::size_t device, std::uint64_t address) noexcept {
  TorchThread* thread = agent::recording() ? torch_thread() : nullptr;
  if (thread == nullptr) return;
  if (thread->cuda_freed == address) {
    thread->cuda_free_done = true;  // no stream uses the block any more: its free record says so
    return;
  }
  agent::Inside inside;
  auto* record = static_cast<wire::BlockFreeDoneRecord*>(
      agent::begin_record(wire::RecordType::kBlockFreeDone, sizeof(wire::BlockFreeDoneRecord),
                          wire::cuda_device(static_cast<std::uint32_t>(device))));
  if (record == nullptr) return;
  record->address = address;
  agent::commit_record(record);
}

void write_segment(wire::SegmentEvent event, const Segment& segment) noexcept {
  auto* record = static_cast<wire::SegmentRecord*>(
      agent::begin_record(wire::RecordType::kSegment, sizeof(wire::SegmentRecord),
                          wire::cuda_device(static_cast<std::uint32_t>(segment.device))));
  if (record == nullptr) return;
  record->address = segment.address;
  record->bytes = segment.bytes;
  record->stream = segment.stream;
  record->pool = segment.pool;
  record->event = event;
  record->expandable = segment.expandable ? 1 : 0;
  agent::commit_record(record);
}

/// @param change  of the device's reserved bytes
void on_trace_segment(wire::SegmentEvent event, const Segment& segment, std::uint64_t change) noexcept {
  if (!agent::recording() || segment.device >= kDevices) return;
  agent::Inside inside;
  // In `lifetimes` the trace may be attached still, of an earlier recording; nothing is listed there.
  if (agent::full_detail()) write_segment(event, segment);
  // Before the device's first report the base for the bytes is unknown; that report has the sum.
  const Reserved& reported = g_reserved[segment.device];
  if (reported.counting.load(std::memory_order_relaxed) != Counting::kAsTorch) return;
  write_reserved(segment.device, reported.bytes.load(std::memory_order_relaxed) + change);
}

void on_trace_segment_begins(const Segment& segment) noexcept {
  on_trace_segment(wire::SegmentEvent::kBegins, segment, segment.bytes);
}

void on_trace_segment_ends(const Segment& segment) noexcept {
  on_trace_segment(wire::SegmentEvent::kEnds, segment, -segment.bytes);
}

void write_settings(std::size_t device, const ListedSettings& settings) noexcept {
  const std::uint64_t text = agent::intern(settings.text, strlen(settings.text));
  std::size_t free = 0;
  std::size_t total = 0;
  if (settings.fraction < 1 && (g_memory_of_device == nullptr || g_memory_of_device(&free, &total) != 0)) total = 0;
  auto* record = static_cast<wire::AllocatorRecord*>(
      agent::begin_record(wire::RecordType::kAllocator, sizeof(wire::AllocatorRecord),
                          wire::cuda_device(static_cast<std::uint32_t>(device))));
  if (record == nullptr) return;
  record->settings = text;
  record->limit = static_cast<std::uint64_t>(settings.fraction * static_cast<double>(total));
  agent::commit_record(record);
}

/// Writes the segments that exist already. Call it when every change is observed.
void write_segments(void* c10_cuda) noexcept {
  const SegmentList list{
      [](std::size_t device, const ListedSettings& settings) noexcept { write_settings(device, settings); },
      [](const Segment& segment) noexcept { write_segment(wire::SegmentEvent::kListed, segment); },
      [](const ListedBlock& block) noexcept {
        write_request(wire::cuda_device(static_cast<std::uint32_t>(block.device)), block.address, block.stream,
                      block.requested);
      }};
  const char* why = for_each_cuda_segment(c10_cuda, list);
  if (why == nullptr) return write_segment(wire::SegmentEvent::kListEnds, {});
  agent::diagnose(wire::DiagnosticCode::kProviderOff, why);
}

void report_alloc(std::size_t device, void* address, std::uint64_t bytes) noexcept {
  const auto at = reinterpret_cast<std::uint64_t>(address);
  const std::uint32_t number = wire::cuda_device(static_cast<std::uint32_t>(device));
  TorchThread* thread = torch_thread();
  if (agent::follows_streams() && thread != nullptr) add_operator_memory(*thread, at, bytes);
  const bool has_owner = thread != nullptr && thread->block_owner != nullptr;
  if (!has_owner && add_small_block(number, address, bytes)) return;
  write_begin(number, address, bytes, is_for_sums(bytes));
  if (thread == nullptr) return;
  if (thread->cuda_allocated == at && (thread->cuda_stream != 0 || thread->cuda_requested != bytes)) {
    write_request(number, at, thread->cuda_stream, thread->cuda_requested);
  }
  if (has_owner) write_block_owner(number, address, thread->block_owner);
}

void report_free(std::size_t device, void* address, std::uint64_t bytes) noexcept {
  const std::uint32_t number = wire::cuda_device(static_cast<std::uint32_t>(device));
  if (is_small(bytes) && remove_small_block(number, address)) return;
  TorchThread* thread = torch_thread();
  const bool waits =
      thread != nullptr && thread->cuda_freed == reinterpret_cast<std::uint64_t>(address) && !thread->cuda_free_done;
  write_block_end(number, address, waits ? wire::kFreeAwaitsStream : 0, is_small(bytes));
  if (thread != nullptr) thread->cuda_freed = 0;
}

/// This recording began in a running program: its devices can have earlier blocks.
constinit bool g_began_late = false;

/// Checks that the arguments of a device's report are the expected ones. One of them is torch's own counter. After the
/// first block it equals that block's bytes; with earlier blocks it includes their bytes; and it never exceeds the
/// reserved bytes. Called at the first report, and after a "no" at each further one.
bool counts_as_torch(std::size_t device, std::int64_t bytes, std::uint64_t allocated, std::uint64_t reserved) noexcept {
  Reserved& of_device = g_reserved[device];
  const Counting counting = of_device.counting.load(std::memory_order_relaxed);
  if (counting != Counting::kUnknown) return counting == Counting::kAsTorch;
  const bool has_it = bytes < 0 || static_cast<std::uint64_t>(bytes) <= allocated;
  const bool same =
      g_began_late ? has_it && allocated <= reserved : bytes > 0 && static_cast<std::uint64_t>(bytes) == allocated;
  of_device.counting.store(same ? Counting::kAsTorch : Counting::kOtherwise, std::memory_order_relaxed);
  if (same) return true;
  agent::diagnose(wire::DiagnosticCode::kProviderOff,
                  "blocks of CUDA are not seen: torch's own counter differs from what is hooked for them");
  return false;
}

// Called for every block that torch's CUDA allocator allocates or frees, under its lock. `bytes` is the block's size,
// which memory_stats counts as allocated; a free has it, too.
void on_report_cuda_memory(void* address, std::int64_t bytes, std::size_t allocated, std::size_t reserved,
                           std::uint16_t device) {
  if (address != nullptr && bytes != 0 && agent::recording()) {
    agent::Inside inside;
    const std::size_t index = device >> 8;
    const Reserved& reported = g_reserved[index];
    if (reported.bytes.load(std::memory_order_relaxed) != reserved ||
        reported.traced.load(std::memory_order_relaxed) != is_traced()) {
      if (!counts_as_torch(index, bytes, allocated, reserved))
        return g_report_memory(address, bytes, allocated, reserved, device);
      write_reserved(index, reserved);
    }
    if (!reported.has_uuid.load(std::memory_order_relaxed)) write_uuid(index);
    if (bytes > 0) {
      report_alloc(index, address, static_cast<std::uint64_t>(bytes));
    } else {
      report_free(index, address, static_cast<std::uint64_t>(-bytes));
    }
    // The trace cannot be attached under the lock: the next hook outside of it attaches it.
    Following none = Following::kNot;
    if (agent::full_detail() && g_following.load(std::memory_order_relaxed) == none &&
        g_following.compare_exchange_strong(none, Following::kDue)) {
      agent::note_objects_changed();
    }
  }
  g_report_memory(address, bytes, allocated, reserved, device);
}

void write_out_of_memory(std::uint32_t device, std::uint64_t requested, std::uint64_t allocated, std::uint64_t reserved,
                         std::uint64_t free, std::uint64_t total) noexcept {
  agent::Inside inside;
  if (TorchThread* thread = torch_thread(); thread != nullptr) thread->memory_refused = true;
  write_small_sums();
  const std::uint64_t stack = stack_here();
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
  if (agent::only_blocks()) agent::hold_at_out_of_memory();
}

// Called once for each request that the CUDA allocator gives up, after it has freed what it could and tried again. Its
// lock is held. It has just asked CUDA for the free bytes in the same way.
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

// Requests that the system refused to the CPU allocator. That allocator counts nothing itself.
void on_cpu_out_of_memory(void* reporter, std::size_t requested) {
  if (agent::recording()) write_out_of_memory(wire::kCpuDevice, requested, 0, 0, 0, 0);
  g_cpu_out_of_memory(reporter, requested);
}

ImportPatch g_imports[] = {
    {kAllocCpu, pointer(on_alloc_cpu), nullptr},
    {kFreeCpu, pointer(on_free_cpu), nullptr},
    {kCpuOutOfMemory, pointer(on_cpu_out_of_memory), "libc10.so"},
    {kReportMemory, pointer(on_report_memory), "libtorch_cpu.so"},
    {kReportMemory, pointer(on_report_cuda_memory), "libc10_cuda.so"},
    {kReportOutOfMemory, pointer(on_cuda_out_of_memory), "libc10_cuda.so"},
};

}  // namespace

bool find_allocators(void* c10) noexcept {
  g_began_late = agent::g_hot.every_block.load(std::memory_order_relaxed);
  find_cpu_allocator();
  for (Reserved& each : g_reserved) {
    each.bytes.store(0, std::memory_order_relaxed);
    each.counting.store(Counting::kUnknown, std::memory_order_relaxed);
    each.has_uuid.store(false, std::memory_order_relaxed);
  }
  return find(c10, kAllocCpu, g_alloc_cpu) && find(c10, kFreeCpu, g_free_cpu) &&
         find(c10, kReportMemory, g_report_memory) && find(c10, kReportOutOfMemory, g_report_out_of_memory) &&
         find(c10, kCpuOutOfMemory, g_cpu_out_of_memory);
}

void follow_cuda_allocator() noexcept {
  constexpr AllocatorEvents kEvents{on_trace_alloc, on_trace_free_requested, on_trace_free_completed,
                                    on_trace_segment_begins, on_trace_segment_ends};
  find_driver();
  Following following = g_following.load(std::memory_order_relaxed);
  if (following != Following::kNot && following != Following::kDue) return;
  void* cuda = loaded_library("libc10_cuda.so");
  if (cuda == nullptr) return;
  // libc10_cuda is linked with CUDA's runtime, whose file name depends on its version.
  if (g_memory_of_device == nullptr) find(cuda, "cudaMemGetInfo", g_memory_of_device);
  const char* why = unknown_allocator(cuda);
  if (why == nullptr && following == Following::kDue &&
      g_following.compare_exchange_strong(following, Following::kAttaching)) {
    why = attach_allocator_trace(cuda, kEvents);
    if (why == nullptr) {
      g_following.store(Following::kTraced);
      write_segments(cuda);
      const agent::CudaProvider* provider = agent::cuda_provider();
      const bool follows_calls = agent::follows_streams() || agent::follows_gpu_work();
      if (follows_calls && provider != nullptr) provider->watch_calls();
    }
  }
  if (why == nullptr || g_following.exchange(Following::kNever) == Following::kNever) return;
  agent::diagnose(wire::DiagnosticCode::kProviderOff, why);
}

void write_gpu_blocks(bool recording) noexcept {
  void* cuda = loaded_library("libc10_cuda.so");
  if (cuda == nullptr) return;
  const auto found = [](const FoundBlock& block) noexcept {
    const agent::PythonProvider* python = agent::python_provider();
    const std::uint64_t stack =
        python != nullptr && !block.stack.empty()
            ? python->describe_stack(block.stack.data(), static_cast<std::uint32_t>(block.stack.size()),
                                     block.stack_goes_on)
            : 0;
    auto* record = static_cast<wire::FoundBlockRecord*>(
        agent::begin_record(wire::RecordType::kBlockFound, sizeof(wire::FoundBlockRecord),
                            wire::cuda_device(static_cast<std::uint32_t>(block.device))));
    if (record == nullptr) return;
    record->address = block.address;
    record->bytes = block.bytes;
    record->recording = block.recording ? 1 : 0;
    record->stack = stack;
    agent::commit_record(record);
  };
  const char* why = unknown_allocator(cuda);
  if (why == nullptr) why = for_each_cuda_block(cuda, found, recording);
  if (why != nullptr && !recording) agent::diagnose(wire::DiagnosticCode::kProviderOff, why);
  // The allocator's trace is still attached from an earlier recording.
  if (recording && agent::full_detail() && is_traced()) write_segments(cuda);
}

std::span<const ImportPatch> allocator_imports() noexcept {
  if (proving() && prove_by() == ProveBy::kFence) g_imports[0].replacement = pointer(on_alloc_cpu_to_prove);
  if (proving()) g_imports[1].replacement = pointer(on_free_cpu_to_prove);
  return g_imports;
}

}  // namespace dcmt::torch_provider
