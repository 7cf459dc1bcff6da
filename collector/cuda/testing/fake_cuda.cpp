#include <deque>
#include <map>
#include <set>
#include <utility>

#include "collector/cuda/testing/fake_cupti.h"

namespace dcmt::fake {
namespace {

struct Kernel {
  std::vector<std::size_t> sizes;
  bool as_kernel;
};
std::deque<Kernel> g_kernels;
std::map<const void*, Kernel*> g_by_handle;
int g_questions = 0;
std::uint64_t g_known_begin = 0, g_known_end = 0;
std::set<CUstream> g_non_blocking;
int g_stream_questions = 0;
CUstreamCaptureMode g_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
int g_gpus = -1;  ///< -1: the program does not use CUDA

CUresult parameter(const void* handle, bool as_kernel, std::size_t index, std::size_t* offset, std::size_t* size) {
  ++g_questions;
  const auto found = g_by_handle.find(handle);
  if (found == g_by_handle.end() || found->second->as_kernel != as_kernel) return CUDA_ERROR_INVALID_HANDLE;
  const std::vector<std::size_t>& sizes = found->second->sizes;
  if (index >= sizes.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = 0;
  for (std::size_t i = 0; i < index; ++i) *offset += sizes[i];
  *size = sizes[index];
  return CUDA_SUCCESS;
}

}  // namespace

int gpus();

CUfunction add_kernel(std::vector<std::size_t> sizes, bool as_kernel) {
  Kernel& kernel = g_kernels.emplace_back(Kernel{std::move(sizes), as_kernel});
  g_by_handle[&kernel] = &kernel;
  return reinterpret_cast<CUfunction>(&kernel);
}

void change_kernel(CUfunction kernel, std::vector<std::size_t> sizes) {
  reinterpret_cast<Kernel*>(kernel)->sizes = std::move(sizes);
}

void set_known_memory(std::uint64_t begin, std::uint64_t bytes) {
  g_known_begin = begin;
  g_known_end = begin + bytes;
}
void set_non_blocking(CUstream stream) { g_non_blocking.insert(stream); }
bool is_known(std::uint64_t address) { return g_known_begin <= address && address < g_known_end; }
unsigned int flags_of(CUstream stream) {
  ++g_stream_questions;
  return g_non_blocking.count(stream) > 0 ? CU_STREAM_NON_BLOCKING : 0;
}

void exchange(CUstreamCaptureMode& mode) { std::swap(mode, g_mode); }
CUstreamCaptureMode capture_mode() { return g_mode; }
int stream_questions() { return g_stream_questions; }

int questions() { return g_questions; }

void set_gpus(int count) { g_gpus = count; }
int gpus() { return g_gpus; }

}  // namespace dcmt::fake

extern "C" {

DCMT_FAKE CUresult cuDeviceGetCount(int* count) {
  if (dcmt::fake::gpus() < 0) return CUDA_ERROR_NOT_INITIALIZED;
  *count = dcmt::fake::gpus();
  return CUDA_SUCCESS;
}
DCMT_FAKE CUresult cuStreamGetFlags(CUstream stream, unsigned int* flags) {
  *flags = dcmt::fake::flags_of(stream);
  return CUDA_SUCCESS;
}
DCMT_FAKE CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  if (attribute != CU_POINTER_ATTRIBUTE_MEMORY_TYPE || !dcmt::fake::is_known(address)) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<unsigned int*>(value) = CU_MEMORYTYPE_DEVICE;
  return CUDA_SUCCESS;
}
DCMT_FAKE CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  dcmt::fake::exchange(*mode);
  return CUDA_SUCCESS;
}
DCMT_FAKE CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* size) {
  return dcmt::fake::parameter(function, false, index, offset, size);
}
DCMT_FAKE CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* size) {
  return dcmt::fake::parameter(kernel, true, index, offset, size);
}

}  // extern "C"
