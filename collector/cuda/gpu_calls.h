// Inspects the arguments of a call that gives the GPU work for addresses of watched memory.
#pragma once

#include <cupti.h>

#include <span>

namespace dcmt::cuda_provider {

/// Callback ids of the observed driver functions, in CUPTI's domain DRIVER_API.
std::span<const CUpti_CallbackId> wanted_calls() noexcept;

/// The callback. It may run on any thread, inside any call of the job to CUDA.
void CUPTIAPI on_gpu_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept;

/// Writes a LaunchesRecord; `observed`: calls are observed. Call it inside the guard.
void write_launches(bool observed) noexcept;

}  // namespace dcmt::cuda_provider
