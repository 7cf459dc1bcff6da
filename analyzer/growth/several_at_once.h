// Holders that have many storages, though no container of theirs is known.
#pragma once

#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include "analyzer/growth/growing_sites.h"
#include "analyzer/growth/usual_holders.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// What one reading found with several storages of growing places, such as a static map of C++ whose type is not known.
class SeveralAtOnce {
 public:
  SeveralAtOnce(const TraceData& data, const Holding& holding, const GrowingSites& growing);

  /// True if the last reading that found the path found several that end at the same holder.
  [[nodiscard]] bool has(const OwnerPath& path) const;

 private:
  using Key = std::pair<ScanId, std::string_view>;
  [[nodiscard]] Key key_of(const OwnerPath& path) const;

  const TraceData& data_;
  std::map<Key, std::size_t> counts_;
};

}  // namespace dcmt::analyzer
