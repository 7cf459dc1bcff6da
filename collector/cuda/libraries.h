// The functions of CUPTI and of the driver, from the libraries that the process has loaded.
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

/// What `run --kernels all` needs.
struct CuptiActivities {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityDisable) disable;
  decltype(&cuptiActivityFlushAll) flush;
  decltype(&cuptiActivityFlushPeriod) flush_period;
  decltype(&cuptiActivityGetNextRecord) next_record;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped;
  decltype(&cuptiGetTimestamp) timestamp;
};

/// The number of GPUs, once the program uses the driver; the parameters of a kernel; facts of a stream and of an
/// address. Each function may be missing:
/// a driver before CUDA 12.4 has none for parameters.
struct Driver {
  decltype(&cuDeviceGetCount) device_count;
  decltype(&cuFuncGetParamInfo) function_parameter;
  decltype(&cuKernelGetParamInfo) kernel_parameter;
  decltype(&cuStreamGetFlags) stream_flags;
  decltype(&cuPointerGetAttribute) pointer_attribute;
  decltype(&cuThreadExchangeStreamCaptureMode) exchange_capture_mode;
};

/// False if the process has no CUPTI.
bool find_cupti(Cupti& out) noexcept;
/// Likewise, or if CUPTI lacks one of them.
bool find_activities(CuptiActivities& out) noexcept;

/// The driver's functions, as soon as the driver is loaded.
Driver find_driver() noexcept;

}  // namespace dcmt::cuda_provider
