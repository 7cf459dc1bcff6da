// Rows of the tables that grow with the run, in stretches that several threads share.
#pragma once

#include <vector>

#include "analyzer/load/load_jobs.h"
#include "analyzer/load/trace_data.h"
#include "trace/base/status.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

/// What blocks lie on, by the texts that name it.
struct Devices {
  StringId cpu;
  std::vector<StringId> gpus;  ///< kMostGpus, by number
  bool has_owners = false;     ///< the table has them: not in schema 1
  bool has_streams = false;    ///< the trace of an allocator was followed, which alone records them
};

[[nodiscard]] Status read_operators(Database& database, const Stretch& stretch, Column<Operator>& operators);
[[nodiscard]] Status read_blocks(Database& database, const Stretch& stretch, const Devices& devices,
                                 Column<Block>& blocks);
[[nodiscard]] Status read_storages(Database& database, const Stretch& stretch, Column<Storage>& storages);
[[nodiscard]] Status read_tensors(Database& database, const Stretch& stretch, Column<Tensor>& tensors);

}  // namespace dcmt::analyzer
