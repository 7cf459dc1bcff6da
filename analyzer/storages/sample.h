// What kinds of storages a run makes is seen in a sample of them: there can be millions.
#pragma once

#include <cstddef>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// Calls `visit` with about 200,000 storages of a trace, evenly spread, or with all where there are fewer.
template <class Visit>
void each_of_sample(const TraceData& data, Visit visit) {
  constexpr std::size_t kSample = 200'000;
  const std::size_t every = data.storages.size() / kSample + 1;
  std::size_t i = 0;
  for (const Storage& storage : data.storages) {
    if (i++ % every == 0) visit(storage);
  }
}

}  // namespace dcmt::analyzer
