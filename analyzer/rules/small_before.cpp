#include "analyzer/rules/small_before.h"

#include <algorithm>
#include <iterator>

#include "analyzer/storages/group_names.h"

namespace dcmt::analyzer {

SmallBefore::SmallBefore(const TraceData& data, StringId device, Sequence until) : data_(data) {
  for (const auto& [from, block] : data.blocks_by_begin) {
    if (block->device != device || !is_sum_of_small_blocks(data, *block)) continue;
    sums_.push_back({block, block->bytes.value});
  }
  // After the growth, what was kept may go.
  for (std::size_t i = sums_.size(); i-- > 1;) {
    const bool is_kept = sums_[i].block->span.from_seq <= until;
    if (is_kept) sums_[i - 1].stays = std::min(sums_[i - 1].stays, sums_[i].stays);
  }
}

std::vector<Gap> SmallBefore::gaps(const Container& container) const {
  const Scan* scan = data_.owners.scan(container.small_scan);
  std::vector<Gap> gaps;
  if (scan == nullptr) return gaps;
  const auto after =
      std::ranges::upper_bound(sums_, scan->from, {}, [](const Sum& sum) { return sum.block->span.from_seq; });
  if (after == sums_.begin()) return gaps;
  const std::int64_t others = std::prev(after)->stays - of_containers_;  // whatever else stays
  for (const Sum& sum : sums_) {
    const std::int64_t kept = std::clamp(sum.stays - others, std::int64_t{0}, std::min(of_containers_, sum.stays));
    const double share = static_cast<double>(container.small.value) / static_cast<double>(of_containers_);
    const Bytes part(static_cast<std::int64_t>(share * static_cast<double>(kept)));
    if (part.value > 0) gaps.push_back({.block = sum.block, .from = sum.block->span.from_seq, .to = {}, .part = part});
  }
  return gaps;
}

}  // namespace dcmt::analyzer
