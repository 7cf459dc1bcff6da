#include "analyzer/ranks/rank_alignment.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyzer/time/timeline.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

/// Number of matched events per anchor. Its offset is their median, so that one late rank has no effect.
constexpr std::size_t kEventsPerAnchor = 15;

using EventTimes = decltype(RankEvents::times);

EventTimes times_of(const TraceData& data) {
  EventTimes events;
  const std::vector<Step> steps = steps_of(data);
  for (const Step& step : steps) {
    if (step.to.valid()) events[{step.number, {}}].push_back(step.to_ns);
  }
  std::vector<const Operator*> collectives;
  for (const Operator& op : data.operators) {
    if (op.span.ended() && data.text(op.name).starts_with("c10d::")) collectives.push_back(&op);
  }
  std::sort(collectives.begin(), collectives.end(),
            [](const Operator* a, const Operator* b) { return a->span.from_seq < b->span.from_seq; });
  for (const Operator* op : collectives) {
    const Step* step = step_at(steps, op->span.from_seq);
    // After the last step: a separate key above all step numbers.
    const std::int64_t number = step != nullptr ? step->number : std::numeric_limits<std::int64_t>::max();
    events[{number, std::string(data.text(op->name))}].push_back(op->span.to_ns);
  }
  return events;
}

struct Match {
  TimeNs at;
  std::int64_t offset;
};

std::vector<Match> matches_of(const EventTimes& common, const EventTimes& own, RankClock& clock) {
  std::vector<Match> matches;
  for (const auto& [key, times] : own) {
    const auto found = common.find(key);
    if (found == common.end() || found->second.size() != times.size()) continue;
    (key.second.empty() ? clock.steps : clock.collectives) += times.size();
    for (std::size_t i = 0; i < times.size(); ++i) {
      matches.push_back({times[i], static_cast<std::int64_t>(static_cast<std::uint64_t>(found->second[i].value) -
                                                             static_cast<std::uint64_t>(times[i].value))});
    }
  }
  std::sort(matches.begin(), matches.end(),
            [](const Match& a, const Match& b) { return std::tie(a.at, a.offset) < std::tie(b.at, b.offset); });
  return matches;
}

RankClock::Anchor anchor_of(const std::vector<Match>& matches, std::size_t from, std::size_t to) {
  std::vector<std::int64_t> offsets;
  for (std::size_t i = from; i < to; ++i) offsets.push_back(matches[i].offset);
  const auto middle = offsets.begin() + static_cast<std::ptrdiff_t>(offsets.size() / 2);
  std::nth_element(offsets.begin(), middle, offsets.end());
  return {matches[from + (to - from) / 2].at, *middle};
}

void align_by_events(const std::vector<Match>& matches, RankClock& clock) {
  clock.by = AlignedBy::kEvents;
  const std::size_t groups = (matches.size() + kEventsPerAnchor - 1) / kEventsPerAnchor;
  for (std::size_t group = 0; group < groups; ++group) {
    const RankClock::Anchor anchor =
        anchor_of(matches, group * matches.size() / groups, (group + 1) * matches.size() / groups);
    if (clock.anchors.empty() || clock.anchors.back().at < anchor.at) clock.anchors.push_back(anchor);
  }
  double worst = 0;
  for (const Match& match : matches) {
    const double placed = static_cast<double>(clock.common(match.at).value) - static_cast<double>(match.at.value);
    worst = std::max(worst, std::abs(placed - static_cast<double>(match.offset)));
  }
  clock.error_ns = std::llround(std::min(worst, 9e18));
}

void align_by_wall_clock(const RankEvents& common, const RankEvents& own, RankClock& clock) {
  if (own.real_offset_ns == 0 || common.real_offset_ns == 0) return;
  clock.by = AlignedBy::kWallClock;
  clock.anchors.push_back({own.start, static_cast<std::int64_t>(static_cast<std::uint64_t>(own.real_offset_ns) -
                                                                static_cast<std::uint64_t>(common.real_offset_ns))});
}

}  // namespace

TimeNs RankClock::common(TimeNs at) const {
  if (anchors.empty()) return at;
  const auto moved = [at](std::int64_t offset) {  // wraps where a damaged trace overflows
    return TimeNs(static_cast<std::int64_t>(static_cast<std::uint64_t>(at.value) + static_cast<std::uint64_t>(offset)));
  };
  const auto after =
      std::upper_bound(anchors.begin(), anchors.end(), at, [](TimeNs t, const Anchor& a) { return t < a.at; });
  if (after == anchors.begin()) return moved(after->offset);
  const Anchor& before = *std::prev(after);
  if (after == anchors.end()) return moved(before.offset);
  const double share = (static_cast<double>(at.value) - static_cast<double>(before.at.value)) /
                       (static_cast<double>(after->at.value) - static_cast<double>(before.at.value));
  const double change = share * (static_cast<double>(after->offset) - static_cast<double>(before.offset));
  return TimeNs(static_cast<std::int64_t>(static_cast<std::uint64_t>(moved(before.offset).value) +
                                          static_cast<std::uint64_t>(std::llround(std::clamp(change, -9e18, 9e18)))));
}

RankEvents rank_events(const TraceData& data) {
  RankEvents events;
  events.rank = data.meta_integer(meta::kRank).value_or(-1);
  events.real_offset_ns = data.meta_integer(meta::kRealOffsetNs).value_or(0);
  events.start = TimeNs(data.meta_integer(meta::kStartNs).value_or(0));
  events.times = times_of(data);
  return events;
}

std::vector<RankClock> align_ranks(const std::vector<RankEvents>& ranks) {
  std::vector<RankClock> clocks;
  for (const RankEvents& own : ranks) {
    RankClock clock;
    clock.rank = own.rank;
    if (clocks.empty()) {
      clock.by = AlignedBy::kItself;
    } else if (const auto matches = matches_of(ranks.front().times, own.times, clock); !matches.empty()) {
      align_by_events(matches, clock);
    } else {
      align_by_wall_clock(ranks.front(), own, clock);
    }
    clocks.push_back(std::move(clock));
  }
  return clocks;
}

}  // namespace dcmt::analyzer
