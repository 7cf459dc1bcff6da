// Records when kernels, copies and fills run on the GPUs (`run --kernels all`), by CUPTI's activity records.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>

namespace dcmt::cuda_provider {

/// CUPTI begins to collect activities. It hands them over some time after they have ended, on a thread of its own. Not
/// thread-safe. Call it inside the guard.
void begin_gpu_work() noexcept;

/// Takes over what CUPTI has collected, also of work that has not ended. Waits for CUPTI, not for the GPU.
void flush_gpu_work() noexcept;

/// CUPTI collects no more: another user comes, or the recording ends.
void end_gpu_work() noexcept;

/// A call is about to give a stream work. Call it inside the guard.
/// @param call  CUPTI's number of it
/// @param stream  nothing: not known
void write_gpu_launch(std::uint32_t call, std::optional<CUstream> stream) noexcept;

}  // namespace dcmt::cuda_provider
