// Blocks of page-locked memory of the CPU, which torch's allocator for it rounds up and keeps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/load/trace_rows.h"
#include "trace/base/status.h"
#include "trace/base/typed_id.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

struct PinnedBlock {
  std::int64_t id = 0;
  std::int64_t address = 0;
  Span span;
  Bytes bytes;                 ///< that the allocator reserved
  std::optional<Bytes> asked;  ///< bytes of its storage; nothing: not known

  /// In order of their begin.
  static Expected<std::vector<PinnedBlock>> load(Database& database);
};

}  // namespace dcmt::analyzer
