#include "analyzer/model/device_analysis.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "analyzer/model/prediction_bounds.h"

namespace dcmt::analyzer {
namespace {

/// A storage that several items name counts once.
Bytes alive_at(const TraceData& data, const Finding& finding, const Peak& peak) {
  std::set<BlockId> counted;
  Bytes bytes;
  const auto add = [&](StorageId storage) {
    for (const Block* block : data.blocks_by_storage.of(storage)) {
      const bool alive = block->device == peak.device && block->span.covers(peak.seq);
      if (alive && counted.insert(block->id).second) bytes.value += block->bytes.value;
    }
  };
  if (finding.growth) {
    for (const GrowingStorage& each : finding.growth->storages) add(each.storage);
  }
  if (finding.duplicate) {
    for (const TwiceAlive& each : finding.duplicate->twice) add(each.storage);
  }
  for (const FindingItem& item : finding.items) {
    if (item.since > peak.seq || (item.until.valid() && item.until <= peak.seq)) continue;
    add(item.storage);
  }
  return bytes;
}

using Gaps = std::span<const Gap>;

/// True if `gap` overlaps one of `gaps`, which are of one block, in order and disjoint.
bool overlap(Gaps gaps, const Gap& gap) {
  const auto open =
      std::ranges::partition_point(gaps, [&](const Gap& before) { return before.to.valid() && before.to <= gap.from; });
  return open != gaps.end() && (!gap.to.valid() || open->from < gap.to);
}

/// The gaps of several findings. Finds those that are of one block at the same time.
class GapsOfFindings {
 public:
  explicit GapsOfFindings(std::vector<std::vector<Gap>> gaps) : gaps_(std::move(gaps)) {
    for (std::size_t finding = 0; finding < gaps_.size(); ++finding) {
      for (auto rest = Gaps(gaps_[finding]); !rest.empty();) {
        const Block* block = rest.front().block;
        const auto others = std::ranges::find_if(rest, [block](const Gap& gap) { return gap.block != block; });
        const auto count = static_cast<std::size_t>(others - rest.begin());
        by_block_[key_of(rest.front(), finding)].emplace_back(finding, rest.first(count));
        rest = rest.subspan(count);
      }
    }
  }

  [[nodiscard]] const std::vector<Gap>& of(std::size_t finding) const { return gaps_[finding]; }

  /// Without gaps in which another finding keeps the block, too: the block stays until that one is fixed.
  [[nodiscard]] std::vector<Gap> alone(std::size_t finding) const { return alone(finding, gaps_[finding]); }

  /// The same if these were the finding's gaps. They lie within those that it has.
  [[nodiscard]] std::vector<Gap> alone(std::size_t finding, Gaps own) const {
    std::vector<Gap> alone;
    for (const Gap& gap : own) {
      const auto& all = by_block_.at(key_of(gap, finding));
      const bool shared = std::ranges::any_of(
          all, [&](const auto& other) { return other.first != finding && overlap(other.second, gap); });
      if (!shared) alone.push_back(gap);
    }
    return alone;
  }

  /// The gaps of all findings; each block counts once.
  [[nodiscard]] std::vector<Gap> together() const {
    std::vector<Gap> together;
    for (const auto& [key, gaps] : by_block_) {
      // The block is needed until the last of these findings no longer keeps it.
      const auto longest =
          std::ranges::max_element(gaps, {}, [](const auto& each) { return each.second.front().from; });
      together.insert(together.end(), longest->second.begin(), longest->second.end());
    }
    return together;
  }

  /// The gaps of the fixed findings; each block counts once. Without gaps in which another finding keeps the block.
  [[nodiscard]] std::vector<Gap> without(const std::vector<bool>& fixed) const {
    std::vector<Gap> without;
    for (const auto& [key, gaps] : by_block_) {
      const std::pair<std::size_t, Gaps>* longest = nullptr;
      for (const auto& each : gaps) {
        if (!fixed[each.first]) continue;
        if (longest == nullptr || each.second.front().from > longest->second.front().from) longest = &each;
      }
      if (longest == nullptr) continue;
      for (const Gap& gap : longest->second) {
        const bool shared = std::ranges::any_of(
            gaps, [&](const auto& other) { return !fixed[other.first] && overlap(other.second, gap); });
        if (!shared) without.push_back(gap);
      }
    }
    return without;
  }

  [[nodiscard]] std::vector<SharedBytes> shared_at(Sequence at, const std::vector<Finding>& numbered) const {
    std::map<std::vector<std::int64_t>, Bytes> sums;
    for (const auto& [key, gaps] : by_block_) {
      const Block* block = key.first;
      std::set<std::int64_t> findings;
      for (const auto& [finding, own] : gaps) {
        if (overlap(own, {block, at, Sequence(at.value + 1)})) findings.insert(numbered[finding].number);
      }
      if (findings.size() > 1 && block->span.covers(at)) {
        sums[{findings.begin(), findings.end()}].value += block->bytes.value;
      }
    }
    std::vector<SharedBytes> shared;
    for (const auto& [findings, bytes] : sums) shared.push_back({findings, bytes});
    std::stable_sort(shared.begin(), shared.end(),
                     [](const SharedBytes& a, const SharedBytes& b) { return a.at_peak > b.at_peak; });
    return shared;
  }

 private:
  /// Findings that keep parts of a sum do not keep the same bytes.
  using Key = std::pair<const Block*, std::size_t>;
  static Key key_of(const Gap& gap, std::size_t finding) { return {gap.block, gap.part ? finding + 1 : 0}; }

  std::vector<std::vector<Gap>> gaps_;  ///< by finding; those of a block are in order and disjoint
  std::map<Key, std::vector<std::pair<std::size_t, Gaps>>> by_block_;
};

/// Adds the prediction without growth. `gaps`: of all findings of the device; `growth`: of its growth.
void add_growth(const TraceData& data, const Releases& releases, const std::vector<Gap>& gaps,
                std::vector<std::vector<Gap>> growth, DeviceAnalysis& device) {
  WhatIf& what_if = device.what_if;
  const Peak measured = what_if.measured;
  // What small storages have is an estimate.
  what_if.dead_at_peak = std::min(bytes_in_gaps(gaps, measured.device, measured.seq), measured.bytes);
  what_if.needed_at_peak = Bytes(measured.bytes.value - what_if.dead_at_peak.value);
  what_if.predicted = gaps.empty() ? measured : peak_of(data, measured.device, gaps);
  predict_step_peaks(data, releases.steps, measured.device, gaps, device.steps);
  growth.push_back(gaps_on(measured.device, gaps_at_last_use(data, releases.residual())));
  const std::vector<Gap> last_use = GapsOfFindings(std::move(growth)).together();
  what_if.predicted_last_use = last_use.empty() ? measured : peak_of(data, measured.device, last_use);
}

/// Fills in what the predicted peaks of growth say.
void add_bounds(const TraceData& data, const std::vector<Gap>& gaps, DeviceAnalysis& device,
                std::vector<Finding>& findings) {
  for (Finding& finding : findings) {
    if (!finding.growth || finding.device != device.device || !finding.predicted_peak) continue;
    finding.predicted_as = predicted_as(data, gaps, findings, device.what_if.predicted, *finding.growth);
    if (finding.predicted_as != PredictedAs::kValue) device.predicted_as = finding.predicted_as;
  }
}

}  // namespace

std::vector<Gap> gaps_of_finding(const TraceData& data, const Finding& finding) {
  if (finding.growth) return gaps_of_growth(data, *finding.growth);
  if (finding.duplicate) return gaps_of_duplicate(data, *finding.duplicate);
  std::vector<const ReleaseRow*> rows;
  for (const FindingItem& item : finding.items) {
    if (item.row != nullptr && item.row->residual) rows.push_back(item.row);
  }
  return gaps_at_release(data, rows);
}

std::vector<const Block*> blocks_of(const TraceData& data, const Finding& finding) {
  std::set<std::pair<BlockId, const Block*>> blocks;
  const auto add = [&](StorageId storage, Sequence since, Sequence until) {
    for (const Block* block : data.blocks_by_storage.of(storage)) {
      const bool before = block->span.ended() && block->span.to_seq <= since;
      const bool after = until.valid() && block->span.from_seq >= until;
      if (block->device == finding.device && !before && !after) blocks.emplace(block->id, block);
    }
  };
  if (finding.growth) {
    for (const GrowingStorage& each : finding.growth->storages) add(each.storage, {}, {});
  }
  if (finding.duplicate) {
    for (const TwiceAlive& each : finding.duplicate->twice) add(each.storage, each.since, {});
  }
  for (const FindingItem& item : finding.items) add(item.storage, item.since, item.until);
  std::vector<const Block*> found;
  for (const auto& [id, block] : blocks) found.push_back(block);
  return found;
}

std::vector<Gap> gaps_without(const TraceData& data, const DeviceAnalysis& device, const std::vector<Finding>& findings,
                              const std::vector<std::int64_t>& fixed) {
  std::vector<std::vector<Gap>> all(findings.size());
  std::vector<bool> are_fixed(findings.size());
  for (std::size_t i = 0; i < findings.size(); ++i) {
    // Storages that an out-of-memory error refers to have findings of their own.
    if (findings[i].device != device.device || !findings[i].out_of_memory.empty()) continue;
    all[i] = gaps_of_finding(data, findings[i]);
    are_fixed[i] = std::ranges::find(fixed, findings[i].number) != fixed.end();
  }
  return GapsOfFindings(std::move(all)).without(are_fixed);
}

DeviceAnalysis analyze_device(const TraceData& data, const Releases& releases, const PhaseIndex& phases,
                              StringId device) {
  DeviceAnalysis result;
  result.device = device;
  const std::vector<const ReleaseRow*> residual = releases.residual();
  result.what_if = what_if(data, device, residual);
  result.steps = step_peaks(data, releases.steps, device, gaps_on(device, gaps_at_release(data, residual)));
  if (const Sequence at = result.what_if.measured.seq; at.valid()) {
    result.peak_step = step_at(releases.steps, at);
    result.peak_phase = phases.at(at);
  }
  return result;
}

void add_what_if(const TraceData& data, const Releases& releases, DeviceAnalysis& device,
                 std::vector<Finding>& findings) {
  const Peak& peak = device.what_if.measured;
  std::vector<std::vector<Gap>> all(findings.size());
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (findings[i].device == device.device) all[i] = gaps_of_finding(data, findings[i]);
  }
  const GapsOfFindings gaps(std::move(all));
  for (std::size_t i = 0; i < findings.size(); ++i) {
    Finding& finding = findings[i];
    // Storages that an out-of-memory error refers to have findings of their own.
    if (finding.device != device.device || !finding.out_of_memory.empty()) continue;
    finding.alive_at_peak = alive_at(data, finding, peak);
    if (gaps.of(i).empty()) continue;
    finding.dead_at_peak = std::min(bytes_in_gaps(gaps.of(i), peak.device, peak.seq), peak.bytes);
    finding.peak_share = peak.bytes.value > 0
                             ? static_cast<double>(finding.dead_at_peak.value) / static_cast<double>(peak.bytes.value)
                             : 0;
    finding.predicted_peak = peak_of(data, peak.device, gaps.alone(i)).bytes;
    if (!finding.growth || finding.growth->used.empty()) continue;
    const std::vector<Gap> if_used = gaps.alone(i, gaps_of_used(data, *finding.growth));
    const Bytes most = peak_of(data, peak.device, if_used).bytes;
    if (most > *finding.predicted_peak) finding.predicted_if_used = most;
  }
  device.shared = gaps.shared_at(peak.seq, findings);
  std::vector<std::vector<Gap>> growth;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if ((findings[i].growth || findings[i].duplicate) && findings[i].device == device.device)
      growth.push_back(gaps.of(i));
  }
  if (growth.empty()) return;
  add_growth(data, releases, gaps.together(), std::move(growth), device);
  add_bounds(data, gaps.together(), device, findings);
}

}  // namespace dcmt::analyzer
