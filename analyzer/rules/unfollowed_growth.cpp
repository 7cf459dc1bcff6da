#include "analyzer/rules/unfollowed_growth.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "analyzer/growth/outside_growth.h"
#include "analyzer/growth/rounds.h"
#include "analyzer/storages/group_names.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::analyzer {
namespace {

/// What is made in the first steps stays on purpose.
constexpr double kFirstSteps = 3, kWarmUpShare = 0.2;
/// A log of numbers grows by less a step, and by less in all.
constexpr double kLeastPerStep = 256;

/// The bytes of all small blocks at the end of each step, as far as the trace has their sum then.
std::vector<BytesAfter> sums_by_step(const TraceData& data, const Rounds& steps) {
  std::map<StringId, double> of_device;
  std::vector<BytesAfter> points;
  std::size_t step = 0;
  const auto end_steps_before = [&](Sequence seq) {
    for (; step < steps.size() && steps.end(step) < seq; ++step) {
      double bytes = 0;
      for (const auto& [device, sum] : of_device) bytes += sum;
      if (bytes > 0) points.push_back({static_cast<double>(steps.steps_before(step + 1)), bytes});
    }
  };
  for (const auto& [from, block] : data.blocks_by_begin) {
    if (!is_sum_of_small_blocks(data, *block)) continue;
    end_steps_before(from);
    of_device[block->device] = static_cast<double>(block->bytes.value);
  }
  end_steps_before(Sequence(INT64_MAX));
  return points;
}

}  // namespace

std::optional<Remark> unfollowed_growth(const TraceData& data) {
  const Rounds steps = Rounds::steps(data);
  std::vector<BytesAfter> points = sums_by_step(data, steps);
  const double warm_up = std::max(kFirstSteps, kWarmUpShare * static_cast<double>(steps.steps()));
  std::erase_if(points, [&](const BytesAfter& point) { return point.steps < warm_up; });
  const std::optional<SteadyGrowth> growth = steady_growth(points);
  if (!growth || growth->per_step < kLeastPerStep) return std::nullopt;
  const double grown = points.back().bytes - points.front().bytes;
  if (grown < static_cast<double>(kFollowedBytes)) return std::nullopt;
  Remark remark;
  remark.kind = RemarkKind::kGrowsUnfollowed;
  remark.bytes = Bytes(std::llround(grown));
  remark.per_step = Bytes(std::llround(growth->per_step));
  return remark;
}

}  // namespace dcmt::analyzer
