// Sizes of a kernel's parameters; the driver is asked once for each kernel.
#pragma once

#include <cstdint>

#include "collector/cuda/libraries.h"

namespace dcmt::cuda_provider {

inline constexpr std::uint32_t kMostParameters = 512;

struct KernelParameters {
  const std::uint16_t* sizes;
  std::uint32_t count;
  bool known;  ///< the driver returned them
  bool nccl;   ///< a kernel of NCCL: its buffers are not among its parameters
};

/// Makes the table, at the start of each recording; false if there is no memory.
bool make_kernel_table() noexcept;

/// Sets the driver to ask. A driver is never unloaded.
void set_driver(const Driver& driver) noexcept;

/// `kernel` is a CUfunction, or the CUkernel that the runtime passes for one; `name` may be null. `scratch` is used if
/// the table is full, and must outlive the result.
KernelParameters parameters_of(CUfunction kernel, const char* name, std::uint16_t (&scratch)[kMostParameters]) noexcept;

/// Code is unloaded, or that may have been missed: from here on, a handle may belong to another kernel.
void forget_kernels() noexcept;

}  // namespace dcmt::cuda_provider
