#include "collector/torch/hooks/allocator_trace.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <dlfcn.h>
#include <stdio.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>
#include <utility>

namespace dcmt::torch_provider {
namespace {

using Allocator = c10::cuda::CUDACachingAllocator::CUDAAllocator;
using Entry = c10::cuda::CUDACachingAllocator::TraceEntry;

/// Uses only virtual functions, so that a torch without CUDA can load the provider.
Allocator* allocator_in_use(void* c10_cuda) {
  auto* slot = static_cast<std::atomic<Allocator*>*>(dlsym(c10_cuda, "_ZN3c104cuda20CUDACachingAllocator9allocatorE"));
  return slot != nullptr ? slot->load() : nullptr;
}

/// Of the two numbers of a pool's id, one is 0.
std::int64_t number_of(const c10::MempoolId_t& pool) {
  return static_cast<std::int64_t>(pool.second) - static_cast<std::int64_t>(pool.first);
}

void report(const AllocatorEvents& events, const Entry& entry) {
  const auto device = static_cast<std::size_t>(entry.device_);
  const auto segment = [&](bool expandable) {
    return Segment{
        device,    entry.addr_, entry.size_, reinterpret_cast<std::uint64_t>(entry.stream_), number_of(entry.mempool_),
        expandable};
  };
  switch (entry.action_) {
    case Entry::ALLOC:
      return events.allocated(entry.addr_, reinterpret_cast<std::uint64_t>(entry.stream_), entry.size_);
    case Entry::FREE_REQUESTED:
      return events.free_requested(entry.addr_);
    case Entry::FREE_COMPLETED:
      return events.free_completed(device, entry.addr_);
    case Entry::SEGMENT_ALLOC:
      return events.segment_begins(segment(false));
    case Entry::SEGMENT_MAP:
      return events.segment_begins(segment(true));
    case Entry::SEGMENT_FREE:
      return events.segment_ends(segment(false));
    case Entry::SEGMENT_UNMAP:
      return events.segment_ends(segment(true));
    default:
      return;
  }
}

/// The Python frames that torch has gathered for an allocation. Torch could name them, but it needs the GIL and runs
/// Python code for that. This class reads them directly. The snapshot keeps the code objects alive. If it has the last
/// reference, torch defers the release to the next thread with the GIL.
class Stack {
 public:
  explicit Stack(c10::GatheredContext* context) {
    const auto* traceback = dynamic_cast<const torch::CapturedTraceback*>(context);
    if (traceback == nullptr) return;
    const auto& frames = traceback->frames_;
    // Python's collector may have freed code objects of an allocation that was made from Python, too.
    const auto is_gone = [](const auto& frame) { return frame.code == nullptr; };
    if (std::any_of(frames.begin(), frames.end(), is_gone)) return;
    count_ = std::min(frames.size(), kMostPlaces);
    goes_on_ = count_ < frames.size();
    for (std::size_t i = 0; i < count_; ++i) places_[i] = {frames[i].code, frames[i].lasti};
  }
  [[nodiscard]] std::span<const agent::PythonPlace> places() const { return {places_, count_}; }
  [[nodiscard]] bool goes_on() const { return goes_on_; }

 private:
  static constexpr std::size_t kMostPlaces = 64;  // as many as in the agent's own stacks
  agent::PythonPlace places_[kMostPlaces];
  std::size_t count_ = 0;
  bool goes_on_ = false;
};

char g_why[256];

/// Torch's list of segments. Since torch 2.11 it can be had without the history of allocations, which may be long.
auto list_of(auto& allocator) {
  if constexpr (requires { allocator.snapshot(c10::MempoolId_t{0, 0}, /*include_traces=*/false); }) {
    return allocator.snapshot({0, 0}, /*include_traces=*/false);
  } else {
    return allocator.snapshot();
  }
}

/// Calls `visit` for each segment in torch's list, with its blocks, the allocator and its settings.
/// @param what  names the list in the error text
template <class Visit>
const char* for_each_listed(void* c10_cuda, const char* what, Visit&& visit) noexcept {
  try {
    Allocator* allocator = allocator_in_use(c10_cuda);
    if (allocator == nullptr) return nullptr;  // no GPU was used yet
    const auto list = list_of(*allocator);
    for (const auto& segment : list.segments) visit(segment, *allocator, list.config_metadata);
    return nullptr;
  } catch (const std::exception& error) {
    snprintf(g_why, sizeof g_why, "the CUDA allocator does not list its %s: %s", what, error.what());
    return g_why;
  }
}

}  // namespace

const char* attach_allocator_trace(void* c10_cuda, const AllocatorEvents& events) noexcept {
  try {
    Allocator* allocator = allocator_in_use(c10_cuda);
    if (allocator == nullptr) return "torch's CUDA allocator is not where it was: no streams and waiting frees";
    allocator->attachAllocatorTraceTracker([events](const Entry& entry) { report(events, entry); });
    return nullptr;
  } catch (const std::exception& error) {
    snprintf(g_why, sizeof g_why, "the CUDA allocator's trace cannot be attached: %s", error.what());
    return g_why;
  }
}

const char* for_each_cuda_block(void* c10_cuda, void (*found)(const FoundBlock& block) noexcept,
                                bool recording) noexcept {
  return for_each_listed(c10_cuda, "blocks", [&](const auto& segment, auto&&...) {
    std::uint64_t address = segment.address;
    for (const auto& block : segment.blocks) {
      if (block.allocated) {
        const Stack stack(block.context_when_allocated.get());
        found({static_cast<std::size_t>(segment.device), address, block.size, stack.places(), stack.goes_on(),
               recording});
      }
      address += block.size;
    }
  });
}

const char* for_each_cuda_segment(void* c10_cuda, const SegmentList& found) noexcept {
  c10::DeviceIndex last = -1;
  return for_each_listed(c10_cuda, "segments", [&](const auto& segment, Allocator& allocator, const auto& settings) {
    const auto device = static_cast<std::size_t>(segment.device);
    const auto stream = reinterpret_cast<std::uint64_t>(segment.stream);
    if (std::exchange(last, segment.device) != segment.device) {
      found.settings(device, {settings.last_allocator_settings.c_str(), allocator.getMemoryFraction(segment.device)});
    }
    found.segment({device, segment.address, segment.total_size, stream, number_of(segment.owner_private_pool_id),
                   segment.is_expandable});
    std::uint64_t address = segment.address;
    for (const auto& block : segment.blocks) {
      if (block.allocated) found.block({device, address, stream, block.requested_size});
      address += block.size;
    }
  });
}

const char* unknown_allocator(void* c10_cuda) noexcept {
  try {
    Allocator* allocator = allocator_in_use(c10_cuda);
    if (allocator == nullptr) return nullptr;
    const std::string name = allocator->name();
    if (name == "native") return nullptr;
    snprintf(
        g_why, sizeof g_why,
        "the CUDA allocator '%s' is not supported: it reports no blocks, so there are no CUDA blocks in this trace",
        name.c_str());
    return g_why;
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace dcmt::torch_provider
