#include "analyzer/growth/several_at_once.h"

#include "analyzer/storages/holder_names.h"

namespace dcmt::analyzer {

SeveralAtOnce::SeveralAtOnce(const TraceData& data, const Holding& holding, const GrowingSites& growing) : data_(data) {
  for (const auto& [stack, site] : growing.sites) {
    for (const Living& living : site.living) {
      const HeldBy by = holding.of(living.storage->id);
      if (by.containers.empty() && by.path != nullptr) ++counts_[key_of(*by.path)];
    }
  }
}

bool SeveralAtOnce::has(const OwnerPath& path) const {
  const auto found = counts_.find(key_of(path));
  return found != counts_.end() && found->second >= kFewestBirths;
}

SeveralAtOnce::Key SeveralAtOnce::key_of(const OwnerPath& path) const {
  return {path.last_scan, holder_of(data_.text(path.path))};
}

}  // namespace dcmt::analyzer
