// Reference counts that were watched (`run --watch`), and each of their changes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/load/trace_rows.h"
#include "trace/base/status.h"
#include "trace/base/typed_id.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

/// A reference count, as long as it was watched.
struct WatchedCount {
  WatchedCountId id;
  Subject subject = Subject::kStorage;
  StorageId storage;
  TensorId tensor;            ///< none for a storage's count
  bool at_operators = false;  ///< it was only read at the begin and the end of operators
  std::int64_t first = 0, last = 0;
  std::int64_t lost = 0;  ///< changes without a row, at least
  bool ended = false;     ///< the object ended, or left the storage
  Span span;
};

struct CountChange {
  Sequence seq;
  TimeNs ns;
  WatchedCountId watched;
  std::int64_t before = 0, after = 0;
  Actor by;
  StackId native;  ///< C++ functions
};

struct WatchedCounts {
  std::vector<WatchedCount> counts;  ///< ascending by id
  std::vector<CountChange> changes;  ///< by count, then in order

  [[nodiscard]] std::span<const CountChange> changes_of(WatchedCountId count) const;

  /// Loads nothing from a trace before schema 15.
  static Expected<WatchedCounts> load(Database& database);
};

}  // namespace dcmt::analyzer
