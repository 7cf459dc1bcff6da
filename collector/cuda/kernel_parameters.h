// How large the parameters of a kernel are: asked of the driver once per kernel.
#pragma once

#include <cstdint>

#include "collector/cuda/libraries.h"

namespace dcmt::cuda_provider {

inline constexpr std::uint32_t kMostParameters = 512;

struct KernelParameters {
  const std::uint16_t* sizes;
  std::uint32_t count;
  bool known;  ///< the driver told
  bool nccl;   ///< one of NCCL's: what it works on is not among its parameters
};

/// Makes the table, at the start of each recording; false if there is no memory.
bool make_kernel_table() noexcept;

/// The driver to ask. Its loading ends nothing: a driver is never unloaded.
void set_driver(const Driver& driver) noexcept;

/// `kernel` is a CUfunction, or the CUkernel that the runtime passes for one; `name` may be null. `scratch` is used
/// where the table has no room, and must outlive the result.
KernelParameters parameters_of(CUfunction kernel, const char* name, std::uint16_t (&scratch)[kMostParameters]) noexcept;

/// Code is unloaded, or may have been unseen: the handles of kernels may mean others from here on.
void forget_kernels() noexcept;

}  // namespace dcmt::cuda_provider
