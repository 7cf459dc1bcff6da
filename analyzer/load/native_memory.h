// Sampled allocations of C and C++: the places that make them, and what was alive of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_rows.h"
#include "trace/base/status.h"
#include "trace/base/typed_id.h"
#include "trace/sql/database.h"

namespace dcmt::analyzer {

/// A frame of C or C++.
struct NativeFrame {
  std::int64_t site = 0, depth = 0;
  StringId object, function, file;
  std::int64_t offset = 0, line = 0;
};

struct NativeSite {
  std::int64_t id = 0;
  StackId stack;                    ///< of Python
  std::vector<NativeFrame> frames;  ///< the one that calls the allocator first
};

/// What was alive of a site at one time.
struct NativeLive {
  std::int64_t reading = 0, site = 0;
  Sequence seq;
  TimeNs ns;
  Bytes bytes, deviation;  ///< an estimate, and its standard error
  std::int64_t samples = 0;
  Bytes made;                  ///< allocated so far
  std::optional<Bytes> least;  ///< that were alive since the reading before; before schema 18 it is not known
};

struct NativeMemory {
  std::vector<NativeSite> sites;  ///< ascending by id
  std::vector<NativeLive> live;   ///< by reading

  /// Loads nothing from a trace before schema 15.
  static Expected<NativeMemory> load(Database& database);
};

}  // namespace dcmt::analyzer
