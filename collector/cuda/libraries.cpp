#include "collector/cuda/libraries.h"

#include "collector/elf/elf_patch.h"

namespace dcmt::cuda_provider {

using elf::find;
using elf::loaded_library;

namespace {

void* loaded_cupti() noexcept {
  void* cupti = loaded_library("libcupti.so.13");
  return cupti != nullptr ? cupti : loaded_library("libcupti.so.12");
}

}  // namespace

bool find_cupti(Cupti& out) noexcept {
  void* cupti = loaded_cupti();
  return cupti != nullptr && find(cupti, "cuptiSubscribe", out.subscribe) &&
         find(cupti, "cuptiUnsubscribe", out.unsubscribe) && find(cupti, "cuptiFinalize", out.finalize) &&
         find(cupti, "cuptiEnableCallback", out.enable_callback);
}

bool find_activities(CuptiActivities& out) noexcept {
  void* cupti = loaded_cupti();
  return cupti != nullptr && find(cupti, "cuptiActivityRegisterCallbacks", out.register_callbacks) &&
         find(cupti, "cuptiActivityEnable", out.enable) && find(cupti, "cuptiActivityDisable", out.disable) &&
         find(cupti, "cuptiActivityFlushAll", out.flush) && find(cupti, "cuptiActivityFlushPeriod", out.flush_period) &&
         find(cupti, "cuptiActivityGetNextRecord", out.next_record) &&
         find(cupti, "cuptiActivityGetNumDroppedRecords", out.dropped) &&
         find(cupti, "cuptiGetTimestamp", out.timestamp);
}

Driver find_driver() noexcept {
  Driver driver{};
  void* cuda = loaded_library("libcuda.so.1");
  if (cuda == nullptr) return driver;
  find(cuda, "cuDeviceGetCount", driver.device_count);
  find(cuda, "cuFuncGetParamInfo", driver.function_parameter);
  find(cuda, "cuKernelGetParamInfo", driver.kernel_parameter);
  find(cuda, "cuStreamGetFlags", driver.stream_flags);
  find(cuda, "cuPointerGetAttribute", driver.pointer_attribute);
  find(cuda, "cuThreadExchangeStreamCaptureMode", driver.exchange_capture_mode);
  return driver;
}

}  // namespace dcmt::cuda_provider
