// What a call that gives the GPU work has for arguments, and whether watched memory is among them.
#pragma once

#include <cupti.h>

#include <span>

namespace dcmt::cuda_provider {

/// Ids of the driver's functions whose callbacks are wanted, of CUPTI's domain DRIVER_API.
std::span<const CUpti_CallbackId> wanted_calls() noexcept;

/// The callback. It may run on any thread, inside any call of the job to CUDA.
void CUPTIAPI on_gpu_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept;

/// Writes a LaunchesRecord: `looking` says whether calls come here. Call inside the guard.
void write_launches(bool looking) noexcept;

}  // namespace dcmt::cuda_provider
