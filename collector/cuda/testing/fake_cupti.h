// A CUPTI that calls back when a test wants it, and a driver with the kernels that a test defines.
#pragma once

#include <cuda.h>
#include <cupti.h>

#include <cstdint>
#include <vector>

namespace dcmt::fake {

#define DCMT_FAKE __attribute__((visibility("default")))

/// The program calls this driver function: the subscriber that has enabled it is called before and after.
DCMT_FAKE void call(CUpti_CallbackId function, const void* parameters, const char* kernel = nullptr,
                    CUresult result = CUDA_SUCCESS);

/// True if there is a subscriber; and whether it has enabled this callback.
DCMT_FAKE bool subscribed();
DCMT_FAKE bool enabled(CUpti_CallbackId function);

/// Whether this kind of activities is collected.
DCMT_FAKE bool collects(CUpti_ActivityKind kind);
/// The GPU has done this: it is collected if it is of such a kind. A name has to live on.
DCMT_FAKE void kernel_done(const char* name, std::uint64_t start, std::uint64_t end, std::uint32_t call,
                           std::uint32_t stream, std::uint32_t graph = 0);
DCMT_FAKE void copy_done(CUpti_ActivityMemcpyKind kind, std::uint64_t bytes, std::uint64_t start, std::uint64_t end,
                         std::uint32_t call, std::uint32_t stream);
/// CUPTI's clock.
DCMT_FAKE void set_timestamp(std::uint64_t now);
/// Whether it can be read.
DCMT_FAKE void set_has_timestamp(bool has_timestamp);
/// So many activities are dropped from here on because of a lack of memory.
DCMT_FAKE void drop(std::size_t activities);
/// What was collected is handed over.
DCMT_FAKE void hand_over();

/// A tool outside of the process (Nsight) uses CUPTI: all others are refused.
DCMT_FAKE void set_in_use(bool in_use);

/// The program uses CUDA, and there are so many GPUs. Before this call, it does not use CUDA.
DCMT_FAKE void set_gpus(int count);

/// Adds a kernel with parameters of these sizes. The driver accepts its handle as a CUfunction or only as a CUkernel.
DCMT_FAKE CUfunction add_kernel(std::vector<std::size_t> sizes, bool as_kernel = false);
/// The handle belongs to another kernel from here on.
DCMT_FAKE void change_kernel(CUfunction kernel, std::vector<std::size_t> sizes);
/// Memory that is registered with CUDA; all other is pageable.
DCMT_FAKE void set_known_memory(std::uint64_t begin, std::uint64_t bytes);
/// The stream and the default stream do not wait for each other.
DCMT_FAKE void set_non_blocking(CUstream stream);
/// How often the flags of a stream were requested, and in which capture mode this leaves the thread.
DCMT_FAKE int stream_questions();
DCMT_FAKE CUstreamCaptureMode capture_mode();
/// How often parameters were requested.
DCMT_FAKE int questions();

}  // namespace dcmt::fake
