// Collections of handles: objects of libraries in C, of which Python has a few bytes and the library the rest.
#pragma once

#include <optional>
#include <string>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

struct GrowingHandles {
  std::string holder, entry_type;  ///< "main.tables", "Table"
  std::int64_t entries = 0;        ///< at the last reading
};

/// The collection that gains such entries all along the run. Nothing if there is none, or more than one.
[[nodiscard]] std::optional<GrowingHandles> growing_handles(const TraceData& data);

}  // namespace dcmt::analyzer
