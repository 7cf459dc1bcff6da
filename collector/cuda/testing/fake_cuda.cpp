#include <deque>
#include <map>

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
DCMT_FAKE CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* size) {
  return dcmt::fake::parameter(function, false, index, offset, size);
}
DCMT_FAKE CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* size) {
  return dcmt::fake::parameter(kernel, true, index, offset, size);
}

}  // extern "C"
