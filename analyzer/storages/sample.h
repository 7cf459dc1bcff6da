// The kinds of storages that a run makes, by place and size. They are counted in a sample, as there can be millions of
// storages.
#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>

#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// The place that made a storage, and the storage's bytes.
using PlaceAndSize = std::pair<StackId, Bytes>;

struct HashOfPlaceAndSize {
  std::size_t operator()(const PlaceAndSize& of) const noexcept {
    constexpr std::size_t kSpread = 0x9E3779B97F4A7C15;
    return static_cast<std::size_t>(of.first.value) * kSpread ^ static_cast<std::size_t>(of.second.value);
  }
};

template <class Value>
using ByPlaceAndSize = std::unordered_map<PlaceAndSize, Value, HashOfPlaceAndSize>;

/// Calls `visit` for an even sample of about 200,000 storages of a trace, or for all if there are fewer.
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
