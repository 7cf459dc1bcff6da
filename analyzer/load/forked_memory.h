// Children that the process has forked: what the kernel counted of their memory, and the collections that readings of
// them found.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/load/trace_rows.h"
#include "trace/base/status.h"
#include "trace/base/typed_id.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

/// One child at one time. Children are sampled together: they have the same `ns` then.
struct ForkedSample {
  TimeNs ns;
  std::int64_t pid = 0;
  std::int64_t start = 0;  ///< with `pid` the child's identity
  StringId name;           ///< of its main thread
  Bytes resident;
  Bytes unshared;  ///< changed, and in no other process
};

/// A collection that a reading of a child found.
struct ForkedCollection {
  std::int64_t reading = 0;
  TimeNs ns;
  std::int64_t pid = 0;
  StringId path, place, type, entry_type;
  std::int64_t entries = 0;
  Bytes bytes;             ///< with what the entries refer to, an estimate
  Bytes unshared;          ///< of them, on pages that no other process has
  bool inherited = false;  ///< its parent had the same one
};

struct ForkedMemory {
  std::vector<ForkedSample> samples;          ///< in order
  std::vector<ForkedCollection> collections;  ///< by reading, most bytes first

  /// Loads nothing from a trace before schema 14.
  static Expected<ForkedMemory> load(Database& database);
};

}  // namespace dcmt::analyzer
