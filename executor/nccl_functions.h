// The NCCL functions that the executor calls. They are resolved at run time in the library that torch has loaded, so
// that one build serves a torch with CUDA and one without. Types and values are those of nccl.h, which are stable
// between releases.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <optional>

#include "executor/errors.h"

namespace dcmt::zero3::nccl {

struct Communicator;   // ncclComm
using Stream = void*;  // cudaStream_t

struct UniqueId {
  char bytes[128];
};

enum class Result : int { kSuccess = 0, kInvalidArgument = 4, kInvalidUsage = 5 };  // NCCL has further values
enum class Operation : int { kSum = 0, kMean = 4 };
enum class Dtype : int { kInt8 = 0, kInt32 = 2, kInt64 = 4, kFloat16 = 6, kFloat32 = 7, kFloat64 = 8, kBFloat16 = 9 };

std::optional<Dtype> dtype_of(at::ScalarType type);

struct Functions {
  Result (*get_unique_id)(UniqueId*);
  Result (*init_rank)(Communicator**, int size, UniqueId, int rank);
  Result (*destroy)(Communicator*);
  Result (*abort)(Communicator*);
  Result (*group_start)();
  Result (*group_end)();
  Result (*all_gather)(const void* from, void* into, std::size_t each, Dtype, Communicator*, Stream);
  Result (*reduce_scatter)(const void* from, void* into, std::size_t each, Dtype, Operation, Communicator*, Stream);
  const char* (*error_string)(Result);
  const char* (*last_error)(Communicator*);
  bool is_torchs;  ///< true: torch's library. Another one may work on the CPU, like the one of the tests
};

/// Throws if there is no NCCL. DCMT_NCCL_LIBRARY replaces torch's library.
const Functions& functions(const Place& place);

}  // namespace dcmt::zero3::nccl
