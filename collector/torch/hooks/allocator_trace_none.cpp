// The replacement for builds without CUDA's headers.
#include "collector/torch/hooks/allocator_trace.h"

namespace dcmt::torch_provider {

const char* attach_allocator_trace(void*, const AllocatorEvents&) noexcept {
  return "built without CUDA's headers: no streams, no frees that wait, reserved bytes as of the next allocation";
}

const char* for_each_cuda_block(void*, void (*)(const FoundBlock&) noexcept, bool) noexcept {
  return "built without CUDA's headers: blocks of GPUs that were there before are not in this trace";
}

const char* for_each_cuda_segment(void*, const SegmentList&) noexcept { return nullptr; }

const char* unknown_allocator(void*) noexcept { return nullptr; }

}  // namespace dcmt::torch_provider
