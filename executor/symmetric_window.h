// Gathers without NCCL, for ranks that can access each other's memory: each rank has a window of torch's symmetric
// memory that all ranks have mapped.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>
#include <torch/csrc/distributed/c10d/symm_mem/SymmetricMemory.hpp>

#include <optional>
#include <string>

#include "executor/world.h"

namespace dcmt::zero3 {

class SymmetricWindow {
 public:
  /// `group` is registered in torch's symmetric memory. Waits for all of its ranks. Every function here throws torch's
  /// errors, also if the platform has no symmetric memory.
  SymmetricWindow(std::string group, c10::Device device);

  /// Runs on the current stream. Every rank must pass the same number of bytes. Waits on the host only if the size is a
  /// new maximum. If a rank waits for another one longer than a minute, the work of its device ends with an error.
  void gather(const GatherTask& task);

 private:
  void grow(std::int64_t bytes);

  const std::string group_;
  const c10::Device device_;
  std::optional<c10::Event> last_;  ///< end of the last gather: the next one may run on another stream
  at::Tensor mine_;
  c10::intrusive_ptr<c10d::symmetric_memory::SymmetricMemory> all_;
};

}  // namespace dcmt::zero3
