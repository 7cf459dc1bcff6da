// What is in use of the memory of GPUs, as the recorder sampled it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/base/status.h"
#include "trace/base/typed_id.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

/// A sample of one GPU.
struct GpuMemory {
  TimeNs ns;
  std::int64_t gpu = 0;
  Bytes used, total;
  std::optional<Bytes> process;  ///< of the used bytes, those of the recorded process
  Bytes reserved;                ///< by torch's allocator in this process

  /// Sorted by GPU and time; nothing from a trace before schema 11.
  static Expected<std::vector<GpuMemory>> load(Database& database);
};

}  // namespace dcmt::analyzer
