#include "analyzer/model/prediction_bounds.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "analyzer/growth/usual_holders.h"
#include "analyzer/storages/group_names.h"
#include "analyzer/time/still_rises.h"

namespace dcmt::analyzer {
namespace {

/// Of the predicted peak.
constexpr double kMuchOfPeak = 0.1;

bool is_much(std::int64_t bytes, const Peak& predicted) {
  return static_cast<double>(bytes) >= kMuchOfPeak * static_cast<double>(predicted.bytes.value);
}

/// From the first storage of all that grows to the last one.
std::pair<Sequence, Sequence> extent_of_growth(const TraceData& data, StringId device,
                                               const std::vector<Finding>& findings) {
  Sequence from, to;
  for (const Finding& finding : findings) {
    if (!finding.growth || finding.device != device) continue;
    for (const GrowingStorage& each : finding.growth->storages) {
      const Sequence birth = data.storages.find(each.storage)->span.from_seq;
      from = from.valid() ? std::min(from, birth) : birth;
      to = std::max(to, birth);
    }
  }
  return {from, to};
}

/// What of the small storages of a device stays from a point to another one, without the gaps.
std::int64_t small_ones_that_stay(const TraceData& data, StringId device, const std::vector<Gap>& gaps, Sequence from,
                                  Sequence to) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), left_out = 0;
  for (const auto& [begin, block] : data.blocks_by_begin) {
    if (begin > to) break;
    const bool counts = block->device == device && (begin >= from || block->span.covers(from));
    if (counts && is_sum_of_small_blocks(data, *block)) least = std::min(least, block->bytes.value);
  }
  if (least == std::numeric_limits<std::int64_t>::max()) return 0;
  for (const Gap& gap : gaps) {
    const bool is_then = gap.from <= from && (!gap.to.valid() || from < gap.to) && gap.block->span.covers(from);
    if (gap.part && is_then && gap.block->device == device) left_out += gap.bytes();
  }
  return least - left_out;
}

/// What growing containers alone have at the peak, of places that the findings do not name: entries' values that later
/// ones have replaced.
std::int64_t held_beside(const TraceData& data, const std::vector<Finding>& findings, const Peak& peak) {
  std::set<StorageId> named;
  std::vector<std::string_view> holders;
  for (const Finding& finding : findings) {
    if (!finding.growth || finding.device != peak.device || !finding.growth->type) continue;
    holders.emplace_back(finding.growth->holder);
    holders.insert(holders.end(), finding.growth->also.begin(), finding.growth->also.end());
    for (const auto* storages : {&finding.growth->storages, &finding.growth->beside}) {
      for (const GrowingStorage& each : *storages) named.insert(each.storage);
    }
  }
  const auto is_holder = [&](ContainerId id) {
    const std::string_view path = data.text(data.owners.container(id)->path);
    return std::ranges::any_of(holders, [&](std::string_view holder) { return is_on(holder, path); });
  };
  std::int64_t bytes = 0;
  for (const Block* block : data.lifetimes.at(peak.seq)) {
    if (block->device != peak.device || !block->storage.valid() || named.contains(block->storage)) continue;
    const Held* held = data.owners.of(block->storage);
    if (held == nullptr || held->otherwise || held->containers.empty()) continue;
    if (std::ranges::all_of(held->containers, is_holder)) bytes += block->bytes.value;
  }
  return bytes;
}

/// True if the small storages that the gaps leave out at the peak are much less than those at the end of the growth:
/// what stays at the peak stays to that end.
bool leaves_small_ones(const TraceData& data, const std::vector<Gap>& gaps, const Peak& predicted, Sequence end) {
  if (predicted.seq >= end) return false;
  const auto stay_from = [&](Sequence at) { return small_ones_that_stay(data, predicted.device, gaps, at, end); };
  return is_much(stay_from(predicted.seq) - stay_from(end), predicted);
}

}  // namespace

PredictedAs predicted_as(const TraceData& data, const std::vector<Gap>& gaps, const std::vector<Finding>& findings,
                         const Peak& predicted, bool is_used) {
  const auto [from, to] = extent_of_growth(data, predicted.device, findings);
  if (!from.valid()) return PredictedAs::kValue;
  const Rises rises = still_rises(data, predicted.device, gaps, from, to);
  if (rises.least) return PredictedAs::kMost;
  const bool has_more = rises.most || is_much(held_beside(data, findings, predicted), predicted) ||
                        leaves_small_ones(data, gaps, predicted, to);
  if (is_used) return has_more ? PredictedAs::kAbout : PredictedAs::kLeast;
  return has_more ? PredictedAs::kMost : PredictedAs::kValue;
}

}  // namespace dcmt::analyzer
