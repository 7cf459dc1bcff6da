// Gathers without NCCL, where ranks reach each other's memory: each has a window that all have mapped, of torch's
// symmetric memory.
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
  /// `group` is one that torch's symmetric memory knows. Waits for all of its ranks. Throws, as everything here does,
  /// what torch throws: also if the platform cannot do it.
  SymmetricWindow(std::string group, c10::Device device);

  /// On the current stream. Every rank comes with as many bytes. Waits on the host only where these are more than ever
  /// before. A rank that others wait for longer than a minute ends their device's work.
  void gather(const GatherTask& task);

 private:
  void grow(std::int64_t bytes);

  const std::string group_;
  const c10::Device device_;
  std::optional<c10::Event> last_;  ///< of gathers: the next one may be on another stream
  at::Tensor mine_;
  c10::intrusive_ptr<c10d::symmetric_memory::SymmetricMemory> all_;
};

}  // namespace dcmt::zero3
