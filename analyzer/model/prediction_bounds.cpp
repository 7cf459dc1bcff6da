#include "analyzer/model/prediction_bounds.h"

#include <algorithm>
#include <limits>
#include <set>

#include "analyzer/growth/may_have_to_stay.h"
#include "analyzer/growth/usual_holders.h"
#include "analyzer/storages/group_names.h"
#include "analyzer/time/still_rises.h"

namespace dcmt::analyzer {
namespace {

/// Of the predicted peak.
constexpr double kMuchOfPeak = 0.1;
/// A value is true within this share.
constexpr double kExact = 0.01;
/// Of so many bytes of small storages, of the predicted peak, it is not known well enough when each of them came.
constexpr double kManySmall = 0.25;

std::int64_t inexact(const Peak& predicted) {
  return static_cast<std::int64_t>(kExact * static_cast<double>(predicted.bytes.value));
}

bool is_much(std::int64_t bytes, const Peak& predicted) {
  return static_cast<double>(bytes) >= kMuchOfPeak * static_cast<double>(predicted.bytes.value);
}

/// The storages of all that grows on a device.
struct Growing {
  Sequence from, to;  ///< from the first one that is kept to the last one
  Sequence first;     ///< of all, also of what later ones have replaced
  std::set<StorageId> storages;
  std::set<StackId> places;
};

Growing growing_on(const TraceData& data, StringId device, const std::vector<Finding>& findings) {
  Growing growing;
  const auto sooner = [](Sequence& first, Sequence at) { first = first.valid() ? std::min(first, at) : at; };
  for (const Finding& finding : findings) {
    if (!finding.growth || finding.device != device) continue;
    for (const auto* storages : {&finding.growth->storages, &finding.growth->beside}) {
      for (const GrowingStorage& each : *storages) {
        const Storage& storage = *data.storages.find(each.storage);
        growing.storages.insert(each.storage);
        sooner(growing.first, storage.span.from_seq);
        if (storages == &finding.growth->beside) continue;
        growing.places.insert(storage.birth.stack);
        sooner(growing.from, storage.span.from_seq);
        growing.to = std::max(growing.to, storage.span.from_seq);
      }
    }
  }
  return growing;
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
    const bool is_then = gap.covers(from);
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

/// What growing places made before the predicted peak, and is there to the end, although it is of no finding: no
/// reading has found all that holds it.
std::int64_t alive_beside(const TraceData& data, const Growing& growing, const Peak& predicted) {
  std::int64_t bytes = 0;
  for (const Block* block : data.lifetimes.at(predicted.seq)) {
    if (block->device != predicted.device || growing.storages.contains(block->storage)) continue;
    const Storage* storage = is_sum_of_small_blocks(data, *block) ? nullptr : data.storages.find(block->storage);
    if (storage == nullptr || !growing.places.contains(storage->birth.stack)) continue;
    if (storage->span.covers(growing.to)) bytes += block->bytes.value;
  }
  return bytes;
}

/// Bytes at a point of which it is estimated how long they are needed: what grows and is needed there still, and the
/// small storages that do not go.
std::int64_t estimated_at(const TraceData& data, const std::vector<Gap>& gaps, const Growing& growing, StringId device,
                          Sequence at) {
  std::set<const Block*> blocks;
  std::int64_t bytes = 0;
  for (const Block* block : data.lifetimes.at(at)) {
    if (block->device != device) continue;
    if (!growing.storages.contains(block->storage) && !is_sum_of_small_blocks(data, *block)) continue;
    blocks.insert(block);
    bytes += block->bytes.value;
  }
  for (const Gap& gap : gaps) {
    if (gap.covers(at) && blocks.contains(gap.block)) bytes -= gap.bytes();
  }
  return bytes;
}

/// True if the predicted peak is early, no later part of the growth comes near, and most of the difference is
/// estimated: the same work needs less of it later.
bool is_of_early_estimate(const TraceData& data, const std::vector<Gap>& gaps, const Growing& growing,
                          const Peak& predicted) {
  const Sequence middle((growing.first.value + growing.to.value) / 2);
  if (predicted.seq > middle) return false;
  CurvePoint later;
  for_each_point(data, predicted.device, gaps, [&](const CurvePoint& point) {
    if (middle < point.seq && point.seq <= growing.to && point.bytes > later.bytes) later = point;
  });
  const std::int64_t less = predicted.bytes.value - later.bytes.value;
  if (!later.seq.valid() || less < inexact(predicted)) return false;
  const auto estimated = [&](Sequence at) { return estimated_at(data, gaps, growing, predicted.device, at); };
  return 2 * (estimated(predicted.seq) - estimated(later.seq)) >= less;
}

/// True if the sums of small storages say too little of what goes of them at the predicted peak: because that is much,
/// or because the holder had nothing else by then.
bool is_of_small_ones(const std::vector<Gap>& gaps, const Growing& growing, const Peak& predicted) {
  std::int64_t gone = 0;
  for (const Gap& gap : gaps) {
    if (gap.part && gap.block->device == predicted.device && gap.covers(predicted.seq)) gone += gap.bytes();
  }
  if (predicted.seq < growing.first) return gone >= inexact(predicted);
  return static_cast<double>(gone) >= kManySmall * static_cast<double>(predicted.bytes.value);
}

/// What is needed at the predicted peak only because its round has not ended.
std::int64_t needed_by_round(const TraceData& data, const std::vector<Finding>& findings, const Peak& predicted) {
  std::int64_t bytes = 0;
  for (const Finding& finding : findings) {
    if (!finding.growth || finding.device != predicted.device) continue;
    for (const GrowingStorage& each : finding.growth->storages) {
      if (!each.by_round || !each.frees || each.needed_until <= predicted.seq) continue;
      if (data.storages.find(each.storage)->span.from_seq <= predicted.seq) bytes += each.bytes.value;
    }
  }
  return bytes;
}

/// Nothing is added to a tuple: a new object leads to the one before. A mended program has the latest of them, too.
bool is_chain_of_new_ones(const Growth& growth) { return growth.type == "tuple"; }

}  // namespace

PredictedAs predicted_as(const TraceData& data, const std::vector<Gap>& gaps, const std::vector<Finding>& findings,
                         const Peak& predicted, const Growth& growth) {
  const Growing growing = growing_on(data, predicted.device, findings);
  if (!growing.from.valid()) return PredictedAs::kValue;
  const Rises rises = still_rises(data, predicted.device, gaps, growing.first, growing.to);
  if (rises.least) return PredictedAs::kMost;
  const bool has_more = rises.most || is_much(held_beside(data, findings, predicted), predicted) ||
                        leaves_small_ones(data, gaps, predicted, growing.to);
  const bool is_used = !growth.used_at.empty();
  // What goes of small storages before any that have rows is an estimate, and may be too much.
  const bool is_neither = is_used || (predicted.seq < growing.first && is_of_small_ones(gaps, growing, predicted));
  if (has_more) return is_neither ? PredictedAs::kAbout : PredictedAs::kMost;
  // Before the growth began, a peak is measured, unless the holder had a smaller value then.
  const bool is_after = predicted.seq >= growing.first || (is_used && growth.begun_with.value > 0);
  if (is_after && is_of_early_estimate(data, gaps, growing, predicted)) return PredictedAs::kAbout;
  if (is_chain_of_new_ones(growth)) return PredictedAs::kAbout;
  const std::int64_t much = inexact(predicted);
  if (is_used || may_have_to_stay(data, growth, predicted.seq, much)) return PredictedAs::kLeast;
  if (is_of_small_ones(gaps, growing, predicted)) return PredictedAs::kAbout;
  const std::int64_t more = alive_beside(data, growing, predicted) + needed_by_round(data, findings, predicted);
  return more >= much ? PredictedAs::kMost : PredictedAs::kValue;
}

}  // namespace dcmt::analyzer
