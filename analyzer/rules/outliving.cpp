#include "analyzer/rules/outliving.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "analyzer/storages/live_set.h"
#include "analyzer/storages/storage_bytes.h"
#include "trace/base/detail.h"
#include "trace/base/followed_bytes.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

/// The share of the bytes that outlived their round and may have been freed later.
constexpr double kMostGone = 0.25;
/// The last third of the run must add at least this share of an average third.
constexpr double kStillAdds = 0.4;

/// The round from which on storages of a size are in the trace. That is the first one, except for small storages, which
/// are tracked only after they have become many (docs/decisions/detail.md).
class FollowedSince {
 public:
  FollowedSince(const TraceData& data, const Rounds& rounds) {
    if (data.meta_text(meta::kDetail) != text_of(Detail::kLifetimes)) return;
    for (const Storage& storage : data.storages) {
      const std::size_t round = rounds.at(storage.span.from_seq);
      if (!is_small(storage.bytes) || round >= rounds.size() || is_gathered(data, storage.id)) continue;
      const auto [since, is_new] = small_.try_emplace(size_class_of(storage.bytes.value), round);
      if (!is_new) since->second = std::min(since->second, round);
    }
  }
  [[nodiscard]] std::size_t round_of(Bytes bytes) const {
    if (!is_small(bytes)) return 0;
    const auto since = small_.find(size_class_of(bytes.value));
    return since != small_.end() ? since->second : 0;
  }

 private:
  static bool is_small(Bytes bytes) { return bytes.value > 0 && bytes.value < kFollowedBytes; }

  std::map<std::size_t, std::size_t> small_;  ///< by class of sizes
};

/// Further storages of a place in one round share the last part.
constexpr std::size_t kMostParts = 64;

/// Counts the storages that a place makes in a round and that outlive it.
class Counter {
 public:
  std::size_t next(StackId stack, std::size_t round) {
    auto& [of_round, count] = made_[stack];
    if (of_round != round) count = 0;
    of_round = round;
    return std::min(count++, kMostParts - 1);
  }

 private:
  std::unordered_map<StackId, std::pair<std::size_t, std::size_t>> made_;  ///< the latest round, and the count in it
};

void merge(const OutlivingSite& part, OutlivingSite& site) {
  site.living.insert(site.living.end(), part.living.begin(), part.living.end());
  site.made += part.made;
  site.gone += part.gone;
  for (std::size_t third = 0; third < site.added.size(); ++third) site.added[third] += part.added[third];
  site.adding.insert(part.adding.begin(), part.adding.end());
}

/// The whole if it grows, else the parts that grow: a list may keep the first half of what a graph had saved.
OutlivingSite growing_of(const std::map<std::size_t, OutlivingSite>& parts) {
  OutlivingSite whole, growing;
  for (const auto& [number, part] : parts) {
    merge(part, whole);
    if (part.grows()) merge(part, growing);
  }
  OutlivingSite& result = whole.grows() ? whole : growing;
  std::ranges::sort(result.living, {}, [](const Living& each) { return each.storage->span.from_seq; });
  return std::move(result);
}

void number(std::vector<Living>& living) {
  for (auto from = living.begin(); from != living.end();) {
    const auto to = std::find_if(from, living.end(), [&](const Living& each) { return each.round != from->round; });
    for (auto each = from; each != to; ++each) {
      each->position = {static_cast<std::size_t>(each - from), static_cast<std::size_t>(to - from)};
    }
    from = to;
  }
}

/// Adds what a program makes at these places after its last round has ended, for example in an evaluation.
void add_after(const TraceData& data, const Rounds& rounds, std::map<StackId, OutlivingSite>& sites) {
  if (sites.empty()) return;
  const Sequence last = rounds.end(rounds.size() - 1);
  const Sequence end = last_birth(data);
  for (const Storage& storage : data.storages) {
    if (storage.span.from_seq <= last || !storage.span.covers(end) || is_gathered(data, storage.id)) continue;
    const auto site = sites.find(storage.birth.stack);
    if (site != sites.end()) site->second.after.push_back({&storage, rounds.size(), storage.bytes, {}});
  }
  for (auto& [stack, site] : sites) number(site.after);
}

}  // namespace

Sequence last_birth(const TraceData& data) {
  Sequence last;
  for (const Storage& storage : data.storages) last = std::max(last, storage.span.from_seq);
  return last;
}

bool OutlivingSite::grows() const {
  const double kept = added[0] + added[1] + added[2];
  return adding.size() >= kFewestAdding && gone <= kMostGone * made && added[0] > 0 && added[1] > 0 &&
         added[2] >= kStillAdds * kept / 3;
}

std::vector<Series> series_of(const OutlivingSite& site) {
  std::map<Position, Series> by_position;
  for (const Living& living : site.living) by_position[living.position].push_back(&living);
  std::vector<Series> result;
  for (auto& [position, series] : by_position) result.push_back(std::move(series));
  return result;
}

std::map<StackId, OutlivingSite> growing_sites(const TraceData& data, const Rounds& rounds) {
  const Sequence last = rounds.end(rounds.size() - 1);
  const FollowedSince followed(data, rounds);
  std::map<StackId, std::map<std::size_t, OutlivingSite>> parts;
  Counter counter;
  for (const Storage& storage : data.storages) {
    const std::size_t round = rounds.at(storage.span.from_seq);
    if (round >= rounds.size() || storage.bytes.value == 0) continue;
    if (storage.span.ended() && storage.span.to_seq <= rounds.end(round)) continue;
    if (is_gathered(data, storage.id)) continue;
    OutlivingSite& site = parts[storage.birth.stack][counter.next(storage.birth.stack, round)];
    const auto bytes = static_cast<double>(storage.bytes.value);
    const std::size_t since = followed.round_of(storage.bytes);
    const bool counts = round > since && rounds.steps_after(since) >= kFewestRounds - 1;
    if (counts) site.made += bytes;
    if (!storage.span.covers(last)) {
      if (counts) site.gone += bytes;
      continue;
    }
    const Bytes now = bytes_at(data, storage, last);
    if (now.value == 0) continue;
    site.living.push_back({&storage, round, now, {}});
    if (!counts) continue;
    site.added[rounds.third(round, since)] += bytes;
    site.adding.insert(round);
  }
  std::map<StackId, OutlivingSite> sites;
  for (const auto& [stack, of_stack] : parts) {
    OutlivingSite site = growing_of(of_stack);
    if (!site.grows()) continue;
    number(site.living);
    sites.emplace(stack, std::move(site));
  }
  add_after(data, rounds, sites);
  return sites;
}

}  // namespace dcmt::analyzer
