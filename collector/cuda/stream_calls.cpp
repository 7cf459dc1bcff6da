#include "collector/cuda/stream_calls.h"

#include <cuda.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>

#include "collector/agent/provider.h"
#include "trace/arch/arch.h"

namespace dcmt::cuda_provider {
namespace {

enum class Does : std::uint8_t {
  kNothing,
  kRecords,     ///< begins with an event and a stream
  kWaits,       ///< begins with a stream and an event
  kEventDone,   ///< begins with an event
  kElapsed,     ///< begins with an address and two events
  kStreamDone,  ///< begins with a stream
  kAllDone,
  kCaptureBegins,   ///< begins with a stream
  kCaptureEnds,     ///< likewise
  kSignalsHost,     ///< likewise: the host may learn that the stream's work is over, in a way that is not observed
  kWaitsForMemory,  ///< the stream waits for a value that anything may write
};

struct OrderingCall {
  CUpti_CallbackId id;
  Does does;
};

#define DCMT_ID(name) CUPTI_DRIVER_TRACE_CBID_##name
constexpr OrderingCall kOrderingCalls[] = {
    {DCMT_ID(cuEventRecord), Does::kRecords},
    {DCMT_ID(cuEventRecord_ptsz), Does::kRecords},
    {DCMT_ID(cuEventRecordWithFlags), Does::kRecords},
    {DCMT_ID(cuEventRecordWithFlags_ptsz), Does::kRecords},
    {DCMT_ID(cuStreamWaitEvent), Does::kWaits},
    {DCMT_ID(cuStreamWaitEvent_ptsz), Does::kWaits},
    {DCMT_ID(cuEventSynchronize), Does::kEventDone},
    {DCMT_ID(cuEventQuery), Does::kEventDone},
    {DCMT_ID(cuEventElapsedTime), Does::kElapsed},
    {DCMT_ID(cuStreamSynchronize), Does::kStreamDone},
    {DCMT_ID(cuStreamSynchronize_ptsz), Does::kStreamDone},
    {DCMT_ID(cuStreamQuery), Does::kStreamDone},
    {DCMT_ID(cuStreamQuery_ptsz), Does::kStreamDone},
    {DCMT_ID(cuCtxSynchronize), Does::kAllDone},
    // These wait for the whole device.
    {DCMT_ID(cuMemFree_v2), Does::kAllDone},
    {DCMT_ID(cuMemFreeHost), Does::kAllDone},
    {DCMT_ID(cuMemHostUnregister), Does::kAllDone},
    {DCMT_ID(cuStreamBeginCapture), Does::kCaptureBegins},
    {DCMT_ID(cuStreamBeginCapture_ptsz), Does::kCaptureBegins},
    {DCMT_ID(cuStreamBeginCapture_v2), Does::kCaptureBegins},
    {DCMT_ID(cuStreamBeginCapture_v2_ptsz), Does::kCaptureBegins},
    {DCMT_ID(cuStreamEndCapture), Does::kCaptureEnds},
    {DCMT_ID(cuStreamEndCapture_ptsz), Does::kCaptureEnds},
    {DCMT_ID(cuLaunchHostFunc), Does::kSignalsHost},
    {DCMT_ID(cuLaunchHostFunc_ptsz), Does::kSignalsHost},
    {DCMT_ID(cuStreamAddCallback), Does::kSignalsHost},
    {DCMT_ID(cuStreamAddCallback_ptsz), Does::kSignalsHost},
    {DCMT_ID(cuStreamWaitValue32), Does::kWaitsForMemory},
    {DCMT_ID(cuStreamWaitValue32_ptsz), Does::kWaitsForMemory},
    {DCMT_ID(cuStreamWaitValue32_v2), Does::kWaitsForMemory},
    {DCMT_ID(cuStreamWaitValue32_v2_ptsz), Does::kWaitsForMemory},
    {DCMT_ID(cuStreamWaitValue64), Does::kWaitsForMemory},
    {DCMT_ID(cuStreamWaitValue64_ptsz), Does::kWaitsForMemory},
    {DCMT_ID(cuStreamWaitValue64_v2), Does::kWaitsForMemory},
    {DCMT_ID(cuStreamWaitValue64_v2_ptsz), Does::kWaitsForMemory},
    {DCMT_ID(cuStreamBatchMemOp), Does::kWaitsForMemory},
    {DCMT_ID(cuStreamBatchMemOp_ptsz), Does::kWaitsForMemory},
    {DCMT_ID(cuStreamBatchMemOp_v2), Does::kWaitsForMemory},
    {DCMT_ID(cuStreamBatchMemOp_v2_ptsz), Does::kWaitsForMemory},
    {DCMT_ID(cuWaitExternalSemaphoresAsync), Does::kWaitsForMemory},
    {DCMT_ID(cuWaitExternalSemaphoresAsync_ptsz), Does::kWaitsForMemory},
#if CUDA_VERSION >= 12030
    {DCMT_ID(cuStreamBeginCaptureToGraph), Does::kCaptureBegins},
    {DCMT_ID(cuStreamBeginCaptureToGraph_ptsz), Does::kCaptureBegins},
#endif
#if CUDA_VERSION >= 13000
    {DCMT_ID(cuCtxSynchronize_v2), Does::kAllDone},
    {DCMT_ID(cuEventElapsedTime_v2), Does::kElapsed},
#endif
};
#undef DCMT_ID

constexpr auto kOrderingIds = [] {
  std::array<CUpti_CallbackId, std::size(kOrderingCalls)> ids{};
  std::transform(std::begin(kOrderingCalls), std::end(kOrderingCalls), ids.begin(),
                 [](const OrderingCall& call) { return call.id; });
  return ids;
}();

constexpr auto kDoes = [] {
  std::array<Does, CUPTI_DRIVER_TRACE_CBID_SIZE> does{};
  for (const OrderingCall& call : kOrderingCalls) does[call.id] = call.does;
  return does;
}();

constinit std::atomic<decltype(Driver::stream_flags)> g_stream_flags{nullptr};
constinit std::atomic<decltype(Driver::pointer_attribute)> g_pointer_attribute{nullptr};
constinit std::atomic<decltype(Driver::exchange_capture_mode)> g_exchange_capture_mode{nullptr};

/// Captures that have begun and not ended. A question to the driver can make a capture fail.
constinit std::atomic<std::int32_t> g_captures{0};

/// While one lives, this thread's questions do not disturb a capture that began unobserved.
class Undisturbed {
 public:
  Undisturbed() noexcept : exchange_(g_exchange_capture_mode.load(std::memory_order_relaxed)) {
    may_ask =
        exchange_ != nullptr && g_captures.load(std::memory_order_relaxed) <= 0 && exchange_(&mode_) == CUDA_SUCCESS;
  }
  ~Undisturbed() {
    if (may_ask) static_cast<void>(exchange_(&mode_));
  }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;
  bool may_ask = false;

 private:
  decltype(Driver::exchange_capture_mode) exchange_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// True also if the driver was not or cannot be asked: then a hazard may be missed, but none is made up.
bool blocks(std::uint64_t stream) noexcept {
  if (stream == 0) return true;
  const auto flags_of = g_stream_flags.load(std::memory_order_relaxed);
  const Undisturbed undisturbed;
  unsigned int flags = 0;
  return !undisturbed.may_ask || flags_of == nullptr ||
         flags_of(reinterpret_cast<CUstream>(stream), &flags) != CUDA_SUCCESS ||  // NOLINT(performance-no-int-to-ptr)
         (flags & CU_STREAM_NON_BLOCKING) == 0;
}

void write_call(wire::StreamCall call, std::uint64_t handle, std::uint64_t event, const char* name,
                std::span<const std::uint64_t> addresses) noexcept {
  const std::uint64_t stream = number_of(handle);
  const std::uint32_t aux = static_cast<std::uint32_t>(call) | (blocks(stream) ? wire::kStreamBlocks : 0);
  const std::uint64_t text = name != nullptr ? agent::intern(name, strlen(name)) : 0;
  const agent::TorchProvider* torch = agent::torch_provider();
  const std::uint64_t stack = torch != nullptr && name != nullptr ? torch->stack() : 0;
  auto* record = static_cast<wire::StreamCallRecord*>(
      agent::begin_record(wire::RecordType::kStreamCall, sizeof(wire::StreamCallRecord) + addresses.size_bytes(), aux));
  if (record == nullptr) return;
  record->stream = stream;
  record->event = event;
  record->name = text;
  record->stack = stack;
  if (!addresses.empty()) memcpy(record + 1, addresses.data(), addresses.size_bytes());
  agent::commit_record(record);
}

bool has_succeeded(const CUpti_CallbackData& data) noexcept {
  return data.functionReturnValue != nullptr && *static_cast<const CUresult*>(data.functionReturnValue) == CUDA_SUCCESS;
}

void see_begin(Does does, const std::uint64_t* words) noexcept {
  if (does == Does::kCaptureBegins) g_captures.fetch_add(1, std::memory_order_relaxed);
  if (does == Does::kRecords) write_call(wire::StreamCall::kEventRecord, words[1], words[0], nullptr, {});
  if (does == Does::kWaits) write_call(wire::StreamCall::kWaitEvent, words[0], words[1], nullptr, {});
  if (does == Does::kSignalsHost) write_call(wire::StreamCall::kStreamDone, words[0], 0, nullptr, {});
  if (does == Does::kWaitsForMemory) write_call(wire::StreamCall::kAllDone, 0, 0, nullptr, {});
}

void see_end(Does does, const std::uint64_t* words) noexcept {
  switch (does) {
    case Does::kEventDone:
      return write_call(wire::StreamCall::kEventDone, 0, words[0], nullptr, {});
    case Does::kElapsed:
      write_call(wire::StreamCall::kEventDone, 0, words[1], nullptr, {});
      return write_call(wire::StreamCall::kEventDone, 0, words[2], nullptr, {});
    case Does::kStreamDone:
      return write_call(wire::StreamCall::kStreamDone, words[0], 0, nullptr, {});
    case Does::kAllDone:
      return write_call(wire::StreamCall::kAllDone, 0, 0, nullptr, {});
    case Does::kCaptureBegins:
      return write_call(wire::StreamCall::kCaptureBegins, words[0], 0, nullptr, {});
    case Does::kCaptureEnds:
      return write_call(wire::StreamCall::kCaptureEnds, words[0], 0, nullptr, {});
    default:
      return;
  }
}

}  // namespace

std::span<const CUpti_CallbackId> ordering_calls() noexcept { return kOrderingIds; }

std::uint64_t number_of(std::uint64_t handle) noexcept {
  return handle == reinterpret_cast<std::uint64_t>(CU_STREAM_LEGACY) ? 0 : handle;
}

void set_stream_driver(const Driver& driver) noexcept {
  g_stream_flags.store(driver.stream_flags, std::memory_order_relaxed);
  g_pointer_attribute.store(driver.pointer_attribute, std::memory_order_relaxed);
  g_exchange_capture_mode.store(driver.exchange_capture_mode, std::memory_order_relaxed);
}

void UsedAddresses::add(std::uint64_t address) noexcept {
  if (count_ < kMost) addresses_[count_++] = address;
}

void UsedAddresses::add_argument(std::uint64_t word, bool is_parameter) noexcept {
  // Below are sizes and small numbers; above, it is no address of a program.
  constexpr std::uint64_t kLowest = std::uint64_t{1} << 32;
  constexpr std::uint64_t kEnd = std::uint64_t{1} << arch::kAddressBits;
  if (word < kLowest || word >= kEnd) return;
  const agent::TorchProvider* torch = agent::torch_provider();
  const agent::ArgumentOf of = torch != nullptr ? torch->argument_of(word) : agent::ArgumentOf::kUnknown;
  if (of == agent::ArgumentOf::kOperator || (of == agent::ArgumentOf::kUnknown && is_parameter)) add(word);
}

void write_work(wire::StreamCall call, CUstream stream, const char* name,
                std::span<const std::uint64_t> addresses) noexcept {
  if (addresses.empty()) return;
  write_call(call, reinterpret_cast<std::uint64_t>(stream), 0, name != nullptr ? name : "a kernel without a name",
             addresses);
}

void write_host_waited(CUstream stream) noexcept {
  write_call(wire::StreamCall::kStreamDone, reinterpret_cast<std::uint64_t>(stream), 0, nullptr, {});
}

bool is_pageable(std::uint64_t address) noexcept {
  const auto attribute = g_pointer_attribute.load(std::memory_order_relaxed);
  const Undisturbed undisturbed;
  unsigned int type = 0;
  return !undisturbed.may_ask || attribute == nullptr ||
         attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) != CUDA_SUCCESS;
}

void see_ordering_call(CUpti_CallbackId id, const CUpti_CallbackData& data) noexcept {
  const Does does = kDoes[id];
  const auto* words = static_cast<const std::uint64_t*>(data.functionParams);
  if (does != Does::kAllDone && words == nullptr) return;
  if (data.callbackSite == CUPTI_API_ENTER) {
    return see_begin(does, words);
  }
  // A capture that has failed ends, too.
  const bool ended = does == Does::kCaptureEnds || (does == Does::kCaptureBegins && !has_succeeded(data));
  if (ended) g_captures.fetch_sub(1, std::memory_order_relaxed);
  if (ended || has_succeeded(data)) see_end(ended ? Does::kCaptureEnds : does, words);
}

}  // namespace dcmt::cuda_provider
