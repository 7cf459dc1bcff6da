// Loads the tables that grow with the run, in ranges of rows that several threads share.
#pragma once

#include <vector>

#include "analyzer/load/load_jobs.h"
#include "analyzer/load/trace_data.h"
#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

/// The devices that blocks lie on, by the strings that name them.
struct Devices {
  StringId cpu;
  std::vector<StringId> gpus;  ///< kMostGpus, by number
  bool has_streams = false;    ///< the trace has streams: only recordings with an allocator's trace do
};

[[nodiscard]] Status read_operators(Database& database, const Stretch& stretch, Column<Operator>& operators);
[[nodiscard]] Status read_blocks(Database& database, const Stretch& stretch, const Devices& devices,
                                 Column<Block>& blocks);
[[nodiscard]] Status read_storages(Database& database, const Stretch& stretch, Column<Storage>& storages);
[[nodiscard]] Status read_tensors(Database& database, const Stretch& stretch, Column<Tensor>& tensors);

}  // namespace dcmt::analyzer
