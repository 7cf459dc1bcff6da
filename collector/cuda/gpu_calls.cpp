#include "collector/cuda/gpu_calls.h"

#include <cuda.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <optional>

#include "collector/agent/provider.h"
#include "collector/cuda/gpu_work.h"
#include "collector/cuda/kernel_parameters.h"
#include "collector/cuda/stream_calls.h"

namespace dcmt::cuda_provider {
namespace {

enum class Call : std::uint8_t {
  kNone,
  kKernel,       ///< cuLaunchKernel: kernelParams and extra
  kKernelEx,     ///< cuLaunchKernelEx, with the same parameters
  kCooperative,  ///< cuLaunchCooperativeKernel: kernelParams
  kOtherKernel,  ///< the parameters were set earlier, or are for many devices
  kGraph,
  kCopy,       ///< begins with two addresses
  kPeerCopy,   ///< begins with an address, a context, an address
  kFill,       ///< begins with one address
  kOtherCopy,  ///< describes many addresses
  kUnload,     ///< unloads code
};

constexpr bool kHostWaits = true;

struct WantedCall {
  CUpti_CallbackId id;
  Call call;
  bool host_waits = false;  ///< on the default stream, and over when the call ends
};

#define DCMT_ID(name) CUPTI_DRIVER_TRACE_CBID_##name
constexpr WantedCall kCalls[] = {
    {DCMT_ID(cuLaunchKernel), Call::kKernel},
    {DCMT_ID(cuLaunchKernel_ptsz), Call::kKernel},
    {DCMT_ID(cuLaunchKernelEx), Call::kKernelEx},
    {DCMT_ID(cuLaunchKernelEx_ptsz), Call::kKernelEx},
    {DCMT_ID(cuLaunchCooperativeKernel), Call::kCooperative},
    {DCMT_ID(cuLaunchCooperativeKernel_ptsz), Call::kCooperative},
    {DCMT_ID(cuLaunchCooperativeKernelMultiDevice), Call::kOtherKernel},
    {DCMT_ID(cuLaunch), Call::kOtherKernel},
    {DCMT_ID(cuLaunchGrid), Call::kOtherKernel},
    {DCMT_ID(cuLaunchGridAsync), Call::kOtherKernel},
    {DCMT_ID(cuGraphLaunch), Call::kGraph},
    {DCMT_ID(cuGraphLaunch_ptsz), Call::kGraph},
    {DCMT_ID(cuMemcpy), Call::kCopy, kHostWaits},
    {DCMT_ID(cuMemcpy_ptds), Call::kCopy, kHostWaits},
    {DCMT_ID(cuMemcpyAsync), Call::kCopy},
    {DCMT_ID(cuMemcpyAsync_ptsz), Call::kCopy},
    {DCMT_ID(cuMemcpyDtoD_v2), Call::kCopy, kHostWaits},
    {DCMT_ID(cuMemcpyDtoD_v2_ptds), Call::kCopy, kHostWaits},
    {DCMT_ID(cuMemcpyDtoDAsync_v2), Call::kCopy},
    {DCMT_ID(cuMemcpyDtoDAsync_v2_ptsz), Call::kCopy},
    {DCMT_ID(cuMemcpyDtoH_v2), Call::kCopy, kHostWaits},
    {DCMT_ID(cuMemcpyDtoH_v2_ptds), Call::kCopy, kHostWaits},
    {DCMT_ID(cuMemcpyDtoHAsync_v2), Call::kCopy},
    {DCMT_ID(cuMemcpyDtoHAsync_v2_ptsz), Call::kCopy},
    {DCMT_ID(cuMemcpyHtoD_v2), Call::kCopy, kHostWaits},
    {DCMT_ID(cuMemcpyHtoD_v2_ptds), Call::kCopy, kHostWaits},
    {DCMT_ID(cuMemcpyHtoDAsync_v2), Call::kCopy},
    {DCMT_ID(cuMemcpyHtoDAsync_v2_ptsz), Call::kCopy},
    {DCMT_ID(cuMemcpyPeer), Call::kPeerCopy, kHostWaits},
    {DCMT_ID(cuMemcpyPeer_ptds), Call::kPeerCopy, kHostWaits},
    {DCMT_ID(cuMemcpyPeerAsync), Call::kPeerCopy},
    {DCMT_ID(cuMemcpyPeerAsync_ptsz), Call::kPeerCopy},
    {DCMT_ID(cuMemsetD8_v2), Call::kFill, kHostWaits},
    {DCMT_ID(cuMemsetD8_v2_ptds), Call::kFill, kHostWaits},
    {DCMT_ID(cuMemsetD8Async), Call::kFill},
    {DCMT_ID(cuMemsetD8Async_ptsz), Call::kFill},
    {DCMT_ID(cuMemsetD16_v2), Call::kFill, kHostWaits},
    {DCMT_ID(cuMemsetD16_v2_ptds), Call::kFill, kHostWaits},
    {DCMT_ID(cuMemsetD16Async), Call::kFill},
    {DCMT_ID(cuMemsetD16Async_ptsz), Call::kFill},
    {DCMT_ID(cuMemsetD32_v2), Call::kFill, kHostWaits},
    {DCMT_ID(cuMemsetD32_v2_ptds), Call::kFill, kHostWaits},
    {DCMT_ID(cuMemsetD32Async), Call::kFill},
    {DCMT_ID(cuMemsetD32Async_ptsz), Call::kFill},
    {DCMT_ID(cuMemcpy2D_v2), Call::kOtherCopy, kHostWaits},
    {DCMT_ID(cuMemcpy2D_v2_ptds), Call::kOtherCopy, kHostWaits},
    {DCMT_ID(cuMemcpy2DUnaligned_v2), Call::kOtherCopy, kHostWaits},
    {DCMT_ID(cuMemcpy2DUnaligned_v2_ptds), Call::kOtherCopy, kHostWaits},
    {DCMT_ID(cuMemcpy2DAsync_v2), Call::kOtherCopy},
    {DCMT_ID(cuMemcpy2DAsync_v2_ptsz), Call::kOtherCopy},
    {DCMT_ID(cuMemcpy3D_v2), Call::kOtherCopy, kHostWaits},
    {DCMT_ID(cuMemcpy3D_v2_ptds), Call::kOtherCopy, kHostWaits},
    {DCMT_ID(cuMemcpy3DAsync_v2), Call::kOtherCopy},
    {DCMT_ID(cuMemcpy3DAsync_v2_ptsz), Call::kOtherCopy},
    {DCMT_ID(cuMemcpy3DPeer), Call::kOtherCopy, kHostWaits},
    {DCMT_ID(cuMemcpy3DPeer_ptds), Call::kOtherCopy, kHostWaits},
    {DCMT_ID(cuMemcpy3DPeerAsync), Call::kOtherCopy},
    {DCMT_ID(cuMemcpy3DPeerAsync_ptsz), Call::kOtherCopy},
    {DCMT_ID(cuModuleUnload), Call::kUnload},
    {DCMT_ID(cuLibraryUnload), Call::kUnload},
#if CUDA_VERSION >= 12080
    {DCMT_ID(cuMemcpyBatchAsync), Call::kOtherCopy},
    {DCMT_ID(cuMemcpyBatchAsync_ptsz), Call::kOtherCopy},
    {DCMT_ID(cuMemcpy3DBatchAsync), Call::kOtherCopy},
    {DCMT_ID(cuMemcpy3DBatchAsync_ptsz), Call::kOtherCopy},
#endif
#if CUDA_VERSION >= 13000
    {DCMT_ID(cuMemcpyBatchAsync_v2), Call::kOtherCopy},
    {DCMT_ID(cuMemcpyBatchAsync_v2_ptsz), Call::kOtherCopy},
    {DCMT_ID(cuMemcpy3DBatchAsync_v2), Call::kOtherCopy},
    {DCMT_ID(cuMemcpy3DBatchAsync_v2_ptsz), Call::kOtherCopy},
#endif
};
#undef DCMT_ID

constexpr auto kIds = [] {
  std::array<CUpti_CallbackId, std::size(kCalls)> ids{};
  std::transform(std::begin(kCalls), std::end(kCalls), ids.begin(), [](const WantedCall& wanted) { return wanted.id; });
  return ids;
}();

constexpr auto kCallOf = [] {
  std::array<WantedCall, CUPTI_DRIVER_TRACE_CBID_SIZE> calls{};
  for (const WantedCall& wanted : kCalls) calls[wanted.id] = wanted;
  return calls;
}();

struct Counts {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> graphs{0};
  std::atomic<std::uint64_t> nccl{0};
  std::atomic<std::uint64_t> unknown{0};
  std::atomic<std::uint64_t> copies{0};
};
constinit Counts g_counts;

bool watches() noexcept { return agent::watched_ranges() != 0; }

/// Counts are of the time in which memory is watched.
void count_one(std::atomic<std::uint64_t>& count) noexcept {
  if (watches()) count.fetch_add(1, std::memory_order_relaxed);
}

/// Finds the memory that the arguments of one call have addresses in: watched memory, and for streams any.
class Arguments {
 public:
  explicit Arguments(const char* name) noexcept : name_(name) {}

  void inspect(const void* argument, std::size_t bytes) noexcept {
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      memcpy(&word, static_cast<const char*>(argument) + at, sizeof word);
      if (agent::follows_streams()) used_.add_argument(word, bytes == sizeof word);
      find_watched(word);
    }
  }

  void inspect_address(std::uint64_t address) noexcept {
    if (agent::follows_streams()) used_.add(address);
    find_watched(address);
  }

  /// True if the watched memory was changing, so that the search may be incomplete.
  [[nodiscard]] bool busy() const noexcept { return busy_; }

  void write(wire::StreamCall call, CUstream stream) const noexcept {
    if (agent::follows_streams()) write_work(call, stream, name_, used_.all());
  }

 private:
  static constexpr std::uint64_t kLowestAddress = 1u << 16;
  static constexpr std::uint32_t kMostOwners = 64;

  void find_watched(std::uint64_t address) noexcept {
    // These are sizes, flags and small numbers.
    if (address < kLowestAddress || !watches()) return;
    const agent::WatchedRange range = agent::range_at(address);
    busy_ = busy_ || range.busy;
    if (range.owner != nullptr) touch(range);
  }

  /// Reports each owner once. If there are more than kMostOwners, some may be reported twice.
  void touch(const agent::WatchedRange& range) noexcept {
    if (std::find(owners_, owners_ + count_, range.owner) != owners_ + count_) return;
    if (count_ == kMostOwners) count_ = 0;
    owners_[count_++] = range.owner;
    if (const agent::TorchProvider* torch = agent::torch_provider(); torch != nullptr) {
      torch->gpu_touch(range.owner, range.bytes, name_);
    }
  }

  const char* name_;
  bool busy_ = false;
  std::uint32_t count_ = 0;
  const void* owners_[kMostOwners];
  UsedAddresses used_;
};

/// Inspects the buffer of all parameters that a caller can pass instead of an array.
void inspect_buffer(void** extra, Arguments& arguments) noexcept {
  constexpr int kMostEntries = 4;
  constexpr std::size_t kMostBytes = 32 * 1024;
  const void* buffer = nullptr;
  std::size_t bytes = 0;
  for (int i = 0; i < kMostEntries && extra[0] != CU_LAUNCH_PARAM_END; ++i, extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<const std::size_t*>(extra[1]);
  }
  if (buffer != nullptr) arguments.inspect(buffer, std::min(bytes, kMostBytes));
}

void inspect_kernel(CUfunction kernel, void** parameters, void** extra, CUstream stream, const char* name) noexcept {
  std::uint16_t scratch[kMostParameters];
  const KernelParameters known = parameters_of(kernel, name, scratch);
  if (known.nccl) count_one(g_counts.nccl);
  Arguments arguments(name);
  if (parameters != nullptr) {
    for (std::uint32_t i = 0; i < known.count; ++i) {
      if (parameters[i] != nullptr) arguments.inspect(parameters[i], known.sizes[i]);
    }
  } else if (extra != nullptr) {
    inspect_buffer(extra, arguments);
  }
  if (arguments.busy() || (parameters != nullptr && !known.known)) count_one(g_counts.unknown);
  arguments.write(wire::StreamCall::kKernel, stream);
}

/// The words of a copy or fill, by the call's parameters.
struct CopyWords {
  wire::StreamCall call;
  std::size_t first, second;  ///< addresses; the same: there is one
  std::size_t stream;         ///< of a call that does not wait
};
constexpr CopyWords kCopyWords{wire::StreamCall::kCopy, 0, 1, 3};
constexpr CopyWords kPeerCopyWords{wire::StreamCall::kCopy, 0, 2, 5};
constexpr CopyWords kFillWords{wire::StreamCall::kFill, 0, 0, 3};

/// The stream that gets the work; nothing: it is not among the call's parameters.
std::optional<CUstream> stream_of(const WantedCall& wanted, const void* given) noexcept {
  const auto of_copy = [&](const CopyWords& copy) {
    return wanted.host_waits ? nullptr : static_cast<const CUstream*>(given)[copy.stream];
  };
  switch (wanted.call) {
    case Call::kKernel:
      return static_cast<const cuLaunchKernel_params*>(given)->hStream;
    case Call::kKernelEx: {
      const CUlaunchConfig* config = static_cast<const cuLaunchKernelEx_params*>(given)->config;
      return config != nullptr ? std::optional(config->hStream) : std::nullopt;
    }
    case Call::kCooperative:
      return static_cast<const cuLaunchCooperativeKernel_params*>(given)->hStream;
    case Call::kGraph:
      return static_cast<const cuGraphLaunch_params*>(given)->hStream;
    case Call::kCopy:
      return of_copy(kCopyWords);
    case Call::kPeerCopy:
      return of_copy(kPeerCopyWords);
    case Call::kFill:
      return of_copy(kFillWords);
    default:
      return std::nullopt;
  }
}

void inspect_copy(const CopyWords& copy, CUstream stream, const void* words, const char* name) noexcept {
  const auto* addresses = static_cast<const std::uint64_t*>(words);
  Arguments arguments(name);
  arguments.inspect_address(addresses[copy.first]);
  if (copy.second != copy.first) arguments.inspect_address(addresses[copy.second]);
  if (arguments.busy()) count_one(g_counts.unknown);
  arguments.write(copy.call, stream);
}

/// A copy to memory that is not registered with CUDA is over when its call ends, too.
void copy_ends(const WantedCall& wanted, const void* words) noexcept {
  const bool has_two = wanted.call == Call::kCopy || wanted.call == Call::kPeerCopy;
  if (wanted.host_waits) return write_host_waited(nullptr);
  const auto* addresses = static_cast<const std::uint64_t*>(words);
  if (has_two && is_pageable(addresses[0])) write_host_waited(stream_of(wanted, words).value_or(nullptr));
}

void inspect_call(const WantedCall& wanted, const CUpti_CallbackData& data) noexcept {
  const void* given = data.functionParams;
  const CUstream stream = stream_of(wanted, given).value_or(nullptr);
  switch (wanted.call) {
    case Call::kKernel: {
      const auto& launch = *static_cast<const cuLaunchKernel_params*>(given);
      return inspect_kernel(launch.f, launch.kernelParams, launch.extra, stream, data.symbolName);
    }
    case Call::kKernelEx: {
      const auto& launch = *static_cast<const cuLaunchKernelEx_params*>(given);
      return inspect_kernel(launch.f, launch.kernelParams, launch.extra, stream, data.symbolName);
    }
    case Call::kCooperative: {
      const auto& launch = *static_cast<const cuLaunchCooperativeKernel_params*>(given);
      return inspect_kernel(launch.f, launch.kernelParams, nullptr, stream, data.symbolName);
    }
    case Call::kOtherKernel:
      return count_one(g_counts.unknown);
    case Call::kGraph:
      return count_one(g_counts.graphs);
    case Call::kCopy:
      return inspect_copy(kCopyWords, stream, given, data.functionName);
    case Call::kPeerCopy:
      return inspect_copy(kPeerCopyWords, stream, given, data.functionName);
    case Call::kFill:
      return inspect_copy(kFillWords, stream, given, data.functionName);
    case Call::kOtherCopy:
      return count_one(g_counts.copies);
    case Call::kUnload:
    case Call::kNone:
      return;
  }
}

}  // namespace

std::span<const CUpti_CallbackId> wanted_calls() noexcept { return kIds; }

void CUPTIAPI on_gpu_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept {
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || id >= kCallOf.size() || data == nullptr) return;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  const WantedCall& wanted = kCallOf[id];
  const bool begins = call.callbackSite == CUPTI_API_ENTER;
  if (!begins && !agent::follows_streams()) return;
  if (wanted.call == Call::kUnload) return begins ? forget_kernels() : void();
  const bool inspects = watches() || agent::follows_streams();
  if ((!inspects && !agent::follows_gpu_work()) || !agent::recording()) return;
  const agent::Inside inside;
  if (agent::follows_gpu_work() && begins && wanted.call != Call::kNone) {
    write_gpu_launch(call.correlationId, stream_of(wanted, call.functionParams));
  }
  if (!inspects) return;
  if (wanted.call == Call::kNone) return see_ordering_call(id, call);
  if (!begins) return copy_ends(wanted, call.functionParams);
  // If the process is killed, storages that live to its end have counts up to here.
  constexpr std::uint64_t kBetweenRecords = 1024;
  if (watches() && g_counts.calls.fetch_add(1, std::memory_order_relaxed) % kBetweenRecords == kBetweenRecords - 1) {
    write_launches(true);
  }
  if (watches()) {
    if (const agent::TorchProvider* torch = agent::torch_provider(); torch != nullptr) torch->gpu_work_begins();
  }
  inspect_call(wanted, call);
}

void write_launches(bool observed) noexcept {
  auto* record = static_cast<wire::LaunchesRecord*>(
      agent::begin_record(wire::RecordType::kLaunches, sizeof(wire::LaunchesRecord), observed ? 1 : 0));
  if (record == nullptr) return;
  record->calls = g_counts.calls.load(std::memory_order_relaxed);
  record->graphs = g_counts.graphs.load(std::memory_order_relaxed);
  record->nccl = g_counts.nccl.load(std::memory_order_relaxed);
  record->unknown = g_counts.unknown.load(std::memory_order_relaxed);
  record->copies = g_counts.copies.load(std::memory_order_relaxed);
  agent::commit_record(record);
}

}  // namespace dcmt::cuda_provider
