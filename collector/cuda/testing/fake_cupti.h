// A CUPTI that calls back when a test says so, and a driver that knows the kernels a test has made up.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstdint>
#include <vector>

namespace dcmt::fake {

#define DCMT_FAKE __attribute__((visibility("default")))

/// The program calls this function of the driver: whoever has subscribed and enabled it is called before and after.
DCMT_FAKE void call(CUpti_CallbackId function, const void* parameters, const char* kernel = nullptr);

/// True if somebody is subscribed, and whether with this callback enabled.
DCMT_FAKE bool subscribed();
DCMT_FAKE bool enabled(CUpti_CallbackId function);

/// A tool outside of the process (Nsight) has CUPTI: everybody else is refused.
DCMT_FAKE void set_taken(bool taken);

/// The program uses CUDA, and there are so many GPUs. Before, it does not.
DCMT_FAKE void set_gpus(int count);

/// A kernel with parameters of these sizes, known as a CUfunction or only as a CUkernel.
DCMT_FAKE CUfunction add_kernel(std::vector<std::size_t> sizes, bool as_kernel = false);
/// Its handle means another one from here on.
DCMT_FAKE void change_kernel(CUfunction kernel, std::vector<std::size_t> sizes);
/// How often parameters were asked for.
DCMT_FAKE int questions();

}  // namespace dcmt::fake
