// The GPUs of the process: which ones they are, and what torch's allocator has reserved on it now.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

struct GpuSample {
  std::string uuid;             ///< "GPU-5e6…", as nvidia-smi -L lists it; empty until the process has written it
  std::int64_t reserved = 0;    ///< bytes
  std::int64_t changed_ns = 0;  ///< when `reserved` changed last
};
/// By torch's number.
using Gpus = std::map<std::int64_t, GpuSample>;

/// Thread-safety: none.
class GpuBook {
 public:
  explicit GpuBook(Journal& journal) : journal_(journal) {}

  Status gpu(const wire::GpuRecord& record);
  void reserved(const wire::ReservedRecord& record);

  [[nodiscard]] const Gpus& gpus() const { return gpus_; }

 private:
  Journal& journal_;
  Gpus gpus_;
};

}  // namespace dcmt::recorder
