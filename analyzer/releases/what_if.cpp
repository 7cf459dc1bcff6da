#include "analyzer/releases/what_if.h"

#include <algorithm>
#include <tuple>

namespace dcmt::analyzer {
namespace {

std::vector<Gap> gaps_from(const TraceData& data, const ReleaseRow& release, Sequence from) {
  const StorageId storage = release.mark->storage;
  const Sequence again = data.storage_changes.given_after(storage, from);
  std::vector<Gap> gaps;
  for (const Block* block : blocks_at(data, storage, from)) gaps.push_back({block, from, again});
  return gaps;
}

template <class GapsOf>
std::vector<Gap> gaps_of_all(const std::vector<const ReleaseRow*>& releases, GapsOf gaps_of) {
  std::vector<Gap> gaps;
  for (const ReleaseRow* release : releases) {
    for (const Gap& gap : gaps_of(*release)) gaps.push_back(gap);
  }
  // Two keys may share one storage (tied parameters), but a block is freed once. Of overlapping gaps, the one that
  // begins last counts, because the storage is needed until then.
  std::sort(gaps.begin(), gaps.end(),
            [](const Gap& a, const Gap& b) { return std::tie(a.block, a.from) < std::tie(b.block, b.from); });
  std::vector<Gap> apart;
  for (const Gap& gap : gaps) {
    if (!apart.empty() && apart.back().block == gap.block && (!apart.back().to.valid() || apart.back().to > gap.from)) {
      apart.back() = gap;
    } else {
      apart.push_back(gap);
    }
  }
  return apart;
}

}  // namespace

std::vector<Gap> gaps_at_release(const TraceData& data, const ReleaseRow& release) {
  if (!release.residual || !release.reads().empty()) return {};
  return gaps_from(data, release, release.at());
}

std::vector<Gap> gaps_at_last_use(const TraceData& data, const ReleaseRow& release) {
  if (!release.residual) return {};
  Sequence last = release.at();
  for (const Mark* read : release.reads()) {
    last = std::max({last, read->span.from_seq, read->span.to_seq});
    if (const Operator* op = data.operators.find(read->by.op)) last = std::max(last, op->span.to_seq);
  }
  return gaps_from(data, release, last);
}

std::vector<Gap> gaps_at_release(const TraceData& data, const std::vector<const ReleaseRow*>& releases) {
  return gaps_of_all(releases, [&](const ReleaseRow& row) { return gaps_at_release(data, row); });
}

std::vector<Gap> gaps_while_held(const TraceData& data, const std::vector<const ReleaseRow*>& releases) {
  return gaps_of_all(releases, [&](const ReleaseRow& row) { return gaps_from(data, row, row.at()); });
}

std::vector<Gap> gaps_at_last_use(const TraceData& data, const std::vector<const ReleaseRow*>& releases) {
  return gaps_of_all(releases, [&](const ReleaseRow& row) { return gaps_at_last_use(data, row); });
}

Bytes bytes_in_gaps(const std::vector<Gap>& gaps, StringId device, Sequence at) {
  Bytes bytes;
  for (const Gap& gap : gaps) {
    const bool open = gap.covers(at);
    if (open && gap.block->device == device) bytes.value += gap.bytes();
  }
  return bytes;
}

std::vector<Gap> gaps_on(StringId device, std::vector<Gap> gaps) {
  std::erase_if(gaps, [&](const Gap& gap) { return gap.block->device != device; });
  return gaps;
}

WhatIf what_if(const TraceData& data, StringId device, const std::vector<const ReleaseRow*>& releases) {
  WhatIf result;
  const std::vector<Gap> gaps = gaps_on(device, gaps_at_release(data, releases));
  result.measured = peak_of(data, device);
  result.dead_at_peak = bytes_in_gaps(gaps, device, result.measured.seq);
  result.needed_at_peak = Bytes(result.measured.bytes.value - result.dead_at_peak.value);
  const auto without = [&](const std::vector<Gap>& left_out) {
    return left_out.empty() ? result.measured : peak_of(data, device, left_out);
  };
  result.predicted = without(gaps);
  result.predicted_last_use = without(gaps_on(device, gaps_at_last_use(data, releases)));
  result.last_use_known = std::any_of(releases.begin(), releases.end(), [&](const ReleaseRow* row) {
    return row->residual && !row->reads().empty() && device_of(data, row->mark->storage) == device;
  });
  return result;
}

}  // namespace dcmt::analyzer
