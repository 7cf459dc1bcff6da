#include "collector/cuda/gpu_work.h"

#include <cupti.h>
#include <string.h>

#include <atomic>
#include <cstddef>
#include <utility>

#include "collector/agent/provider.h"
#include "collector/cuda/libraries.h"
#include "collector/cuda/stream_calls.h"

namespace dcmt::cuda_provider {
namespace {

/// Memory that CUPTI fills. If it is used up, CUPTI drops records and counts them.
constexpr std::size_t kBuffers = 16;
constexpr std::size_t kBufferBytes = 512 * 1024;
/// How often CUPTI hands over what has ended.
constexpr std::uint32_t kFlushMs = 200;

constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};

// CUPTI appends fields to these structures from version to version. These versions are in CUPTI 12 and 13, and end with
// the last field that is read.
using Kernel = CUpti_ActivityKernel7;
using Copy = CUpti_ActivityMemcpy5;
using PeerCopy = CUpti_ActivityMemcpyPtoP4;
using Fill = CUpti_ActivityMemset4;

constinit CuptiActivities g_cupti{};
constinit std::uint8_t* g_buffers = nullptr;
constinit std::atomic<std::uint32_t> g_used{0};  ///< a bit for each buffer that CUPTI has
constinit std::atomic<bool> g_on{false};
constinit std::atomic<std::uint64_t> g_unsaid{0};  ///< work that is lost, and that no record says so far

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) noexcept {
  *buffer = nullptr;
  *bytes = 0;
  *most_records = 0;  // as many as fit
  std::uint32_t used = g_used.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < kBuffers;) {
    const std::uint32_t bit = std::uint32_t{1} << i;
    if ((used & bit) != 0) {
      ++i;
    } else if (g_used.compare_exchange_weak(used, used | bit, std::memory_order_acquire)) {
      *buffer = g_buffers + i * kBufferBytes;
      *bytes = kBufferBytes;
      return;
    }
  }
}

void take_back(const std::uint8_t* buffer) noexcept {
  const auto i = static_cast<std::size_t>(buffer - g_buffers) / kBufferBytes;
  g_used.fetch_and(~(std::uint32_t{1} << i), std::memory_order_release);
}

wire::GpuWorkKind kind_of(std::uint8_t copy) noexcept {
  switch (copy) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return wire::GpuWorkKind::kCopyToGpu;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return wire::GpuWorkKind::kCopyToHost;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
      return wire::GpuWorkKind::kCopyOnGpu;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return wire::GpuWorkKind::kCopyBetweenGpus;
    default:
      return wire::GpuWorkKind::kCopy;
  }
}

template <class Activity>
wire::GpuWorkItem item_of(const Activity& activity, wire::GpuWorkKind kind) noexcept {
  wire::GpuWorkItem item{};
  item.start = activity.start;
  item.end = activity.end;
  item.call = activity.correlationId;
  item.stream = activity.streamId;
  item.gpu = activity.deviceId;
  item.graph = activity.graphId;
  item.kind = kind;
  if constexpr (requires { activity.bytes; }) item.bytes = activity.bytes;
  return item;
}

/// Items of one record.
class Items {
 public:
  explicit Items(std::uint64_t lost) noexcept : lost_(lost) {}
  ~Items() {
    write();
    g_unsaid.fetch_add(lost_, std::memory_order_relaxed);
  }
  Items(const Items&) = delete;
  Items& operator=(const Items&) = delete;

  void add(const wire::GpuWorkItem& item) noexcept {
    items_[count_++] = item;
    if (count_ == kMost) write();
  }

 private:
  static constexpr std::size_t kMost =
      (wire::kMaxRecordBytes - sizeof(wire::GpuWorkRecord)) / sizeof(wire::GpuWorkItem);

  /// Without space in the spool, begin_record() counts a lost record.
  void write() noexcept {
    if (count_ == 0 && lost_ == 0) return;
    const std::uint32_t count = std::exchange(count_, 0);
    std::uint64_t now = 0;
    if (g_cupti.timestamp(&now) != CUPTI_SUCCESS) {
      lost_ += count;
      return;
    }
    const std::size_t bytes = count * sizeof(wire::GpuWorkItem);
    auto* record = static_cast<wire::GpuWorkRecord*>(
        agent::begin_record(wire::RecordType::kGpuWork, sizeof(wire::GpuWorkRecord) + bytes, count));
    if (record == nullptr) return;
    record->now = now;
    record->lost = std::exchange(lost_, 0);
    memcpy(record + 1, items_, bytes);
    agent::commit_record(record);
  }

  std::uint64_t lost_;
  std::uint32_t count_ = 0;
  wire::GpuWorkItem items_[kMost];
};

void add(const CUpti_Activity& activity, Items& items) noexcept {
  switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = reinterpret_cast<const Kernel&>(activity);
      wire::GpuWorkItem item = item_of(kernel, wire::GpuWorkKind::kKernel);
      if (kernel.name != nullptr) item.name = agent::intern(kernel.name, strlen(kernel.name));
      return items.add(item);
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = reinterpret_cast<const Copy&>(activity);
      return items.add(item_of(copy, kind_of(copy.copyKind)));
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return items.add(item_of(reinterpret_cast<const PeerCopy&>(activity), wire::GpuWorkKind::kCopyBetweenGpus));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return items.add(item_of(reinterpret_cast<const Fill&>(activity), wire::GpuWorkKind::kFill));
    default:
      return;
  }
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) noexcept {
  if (buffer == nullptr) return;
  const agent::Inside inside;
  if (agent::gate_open()) {
    std::size_t dropped = 0;
    if (g_cupti.dropped(context, stream, &dropped) != CUPTI_SUCCESS) dropped = 0;
    Items items(dropped + g_unsaid.exchange(0, std::memory_order_relaxed));
    CUpti_Activity* activity = nullptr;
    while (valid > 0 && g_cupti.next_record(buffer, valid, &activity) == CUPTI_SUCCESS) add(*activity, items);
  }
  take_back(buffer);
}

}  // namespace

void begin_gpu_work() noexcept {
  if (g_on.load()) return;
  if (!find_activities(g_cupti)) {
    return agent::diagnose(wire::DiagnosticCode::kProviderOff,
                           "CUPTI has not the functions that are needed: the GPU's work is not recorded");
  }
  if (g_buffers == nullptr) g_buffers = static_cast<std::uint8_t*>(agent::arena(kBuffers * kBufferBytes));
  if (g_buffers == nullptr || g_cupti.register_callbacks(give_buffer, take_buffer) != CUPTI_SUCCESS) {
    return agent::diagnose(wire::DiagnosticCode::kProviderOff, "CUPTI refuses: the GPU's work is not recorded");
  }
  g_on.store(true);
  for (const CUpti_ActivityKind kind : kKinds) {
    if (g_cupti.enable(kind) == CUPTI_SUCCESS) continue;
    agent::diagnose(wire::DiagnosticCode::kProviderOff, "CUPTI refuses: some or all of the GPU's work is not recorded");
  }
  static_cast<void>(g_cupti.flush_period(kFlushMs));
}

void flush_gpu_work() noexcept {
  if (g_on.load()) static_cast<void>(g_cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
}

void end_gpu_work() noexcept {
  if (!g_on.exchange(false)) return;
  static_cast<void>(g_cupti.flush_period(0));
  for (const CUpti_ActivityKind kind : kKinds) static_cast<void>(g_cupti.disable(kind));
  static_cast<void>(g_cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
}

void write_gpu_launch(std::uint32_t call, std::optional<CUstream> stream) noexcept {
  const agent::TorchProvider* torch = agent::torch_provider();
  const std::uint64_t stack = torch != nullptr ? torch->stack() : 0;
  auto* record = static_cast<wire::GpuLaunchRecord*>(
      agent::begin_record(wire::RecordType::kGpuLaunch, sizeof(wire::GpuLaunchRecord), call));
  if (record == nullptr) return;
  record->stream = stream ? number_of(reinterpret_cast<std::uint64_t>(*stream)) : wire::kUnknownStream;
  record->stack = stack;
  agent::commit_record(record);
}

}  // namespace dcmt::cuda_provider
