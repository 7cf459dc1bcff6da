#include "collector/cuda/libraries.h"

#include <dlfcn.h>

namespace dcmt::cuda_provider {
namespace {

void* loaded(const char* library) noexcept { return dlopen(library, RTLD_NOLOAD | RTLD_LAZY); }

template <class Function>
bool find(void* library, const char* symbol, Function& out) noexcept {
  out = reinterpret_cast<Function>(dlsym(library, symbol));
  return out != nullptr;
}

}  // namespace

bool find_cupti(Cupti& out) noexcept {
  void* cupti = loaded("libcupti.so.13");
  if (cupti == nullptr) cupti = loaded("libcupti.so.12");
  return cupti != nullptr && find(cupti, "cuptiSubscribe", out.subscribe) &&
         find(cupti, "cuptiUnsubscribe", out.unsubscribe) && find(cupti, "cuptiFinalize", out.finalize) &&
         find(cupti, "cuptiEnableCallback", out.enable_callback);
}

Driver find_driver() noexcept {
  Driver driver{};
  void* cuda = loaded("libcuda.so.1");
  if (cuda == nullptr) return driver;
  find(cuda, "cuFuncGetParamInfo", driver.function_parameter);
  find(cuda, "cuKernelGetParamInfo", driver.kernel_parameter);
  return driver;
}

}  // namespace dcmt::cuda_provider
