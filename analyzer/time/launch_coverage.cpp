#include "analyzer/time/launch_coverage.h"

#include <algorithm>

namespace dcmt::analyzer {
namespace {

bool is_on_cpu(const TraceData& data, StorageId storage) {
  // A storage does not move to another device.
  const auto blocks = data.blocks_by_storage.of(storage);
  return !blocks.empty() && data.text(blocks.front()->device) == "cpu";
}

/// Counts only increase, except in a damaged trace.
LaunchCounts difference(const LaunchCounts& more, const LaunchCounts& less) {
  const auto minus = [](std::int64_t a, std::int64_t b) { return std::max<std::int64_t>(0, a - b); };
  return {minus(more.calls, less.calls), minus(more.graphs, less.graphs), minus(more.nccl, less.nccl),
          minus(more.unknown, less.unknown), minus(more.copies, less.copies)};
}

}  // namespace

std::optional<LaunchCoverage> launch_coverage(const TraceData& data, StorageId storage, Sequence from, Sequence until) {
  if (data.launches.empty() || is_on_cpu(data, storage)) return std::nullopt;
  const auto after = [&](Sequence at) {
    return std::upper_bound(data.launches.begin(), data.launches.end(), at,
                            [](Sequence seq, const LaunchesSoFar& row) { return seq < row.seq; });
  };
  const auto end = until.valid() ? after(until) : data.launches.end();
  auto begin = after(from);
  // The counts at the release were reported right before it, unless launches had not been observed until then.
  const bool known_from_the_begin = begin != data.launches.begin();
  if (known_from_the_begin) --begin;
  if (begin >= end) return std::nullopt;
  LaunchCoverage coverage;
  coverage.counts = difference(std::prev(end)->counts, begin->counts);
  coverage.whole =
      known_from_the_begin && std::all_of(begin, end, [](const LaunchesSoFar& row) { return row.observed; });
  return coverage;
}

}  // namespace dcmt::analyzer
