#include "collector/scan/agreement.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

namespace dcmt::scan {
namespace {

constexpr int kMorePasses = 3;

bool is_unrooted(const Holder& holder) { return holder.confirmed && !holder.rooted; }

}  // namespace

void keep_agreed(Census& census, const Census& earlier) {
  std::set<std::tuple<Address, Address, std::uint64_t, std::string_view>> before;
  if (!census.collecting && !earlier.collecting) {
    for (const HeldStorage& storage : earlier.storages) {
      for (const Holder& holder : storage.holders) {
        if (is_unrooted(holder)) before.emplace(storage.storage, storage.data, storage.bytes, holder.path);
      }
    }
  }
  for (HeldStorage& storage : census.storages) {
    for (Holder& holder : storage.holders) {
      if (!is_unrooted(holder)) continue;
      holder.confirmed = before.contains({storage.storage, storage.data, storage.bytes, holder.path});
    }
    std::ranges::stable_partition(storage.holders, &Holder::confirmed);
  }
}

Expected<Census> take_agreed(Censuses& censuses, const CensusOptions& options) {
  CensusOptions quick = options;
  quick.native = Native::kNo;
  quick.retained = 0;
  DCMT_ASSIGN_OR_RETURN(Census agreed, censuses.take(quick));
  const auto has_unrooted = [&] {
    return std::ranges::any_of(
        agreed.storages, [](const HeldStorage& storage) { return std::ranges::any_of(storage.holders, is_unrooted); });
  };
  for (int pass = 0; pass < kMorePasses && has_unrooted(); ++pass) {
    DCMT_ASSIGN_OR_RETURN(Census next, censuses.take(quick));
    keep_agreed(next, agreed);
    agreed = std::move(next);
  }
  DCMT_ASSIGN_OR_RETURN(Census census, censuses.take(options));
  keep_agreed(census, agreed);
  return census;
}

}  // namespace dcmt::scan
