// How often each key was gathered, released and read after a release: exact over the whole run, whichever rows are
// kept.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "trace/base/status.h"
#include "trace/sql/trace_writer.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class KeySums {
 public:
  Status resume(TraceWriter& writer);

  /// The sums of a key, which are about to change.
  KeySumRow& of(std::int64_t graph, std::int64_t key);

  Status commit(TraceWriter& writer);

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;
  std::map<Key, KeySumRow> sums_;
  std::set<Key> changed_;
};

}  // namespace dcmt::recorder
