// The functions of CUPTI and of the driver that are called, found in the libraries that the process has loaded.
#pragma once

#include <cuda.h>
#include <cupti.h>

namespace dcmt::cuda_provider {

struct Cupti {
  decltype(&cuptiSubscribe) subscribe;
  decltype(&cuptiUnsubscribe) unsubscribe;
  decltype(&cuptiFinalize) finalize;
  decltype(&cuptiEnableCallback) enable_callback;
};

/// How many GPUs there are, once the program uses the driver. Parameters of a kernel: either may be missing, and a
/// driver before CUDA 12.4 has none of them.
struct Driver {
  decltype(&cuDeviceGetCount) device_count;
  decltype(&cuFuncGetParamInfo) function_parameter;
  decltype(&cuKernelGetParamInfo) kernel_parameter;
};

/// False if the process has no CUPTI.
bool find_cupti(Cupti& out) noexcept;

/// What the driver has, as soon as it is loaded.
Driver find_driver() noexcept;

}  // namespace dcmt::cuda_provider
