#include "analyzer/growth/may_have_to_stay.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/growth/rounds.h"
#include "trace/base/cycle_text.h"

namespace dcmt::analyzer {
namespace {

/// What ends in the round after the one in which it is not needed any more may be a variable's.
constexpr std::size_t kRoundsLater = 2;
/// A window of fewer rounds is known exactly.
constexpr std::size_t kLongWindow = 8;

bool is_frozen(const TraceData& data, const Growth& growth) {
  return std::ranges::any_of(growth.storages, [&](const GrowingStorage& each) {
    const auto paths = data.owners.paths_to(each.storage);
    return !paths.empty() && data.text(paths.front().path).find(cycle_text::kFrozen) != std::string_view::npos;
  });
}

/// The kept storages of a growing place.
struct Place {
  Sequence first, last;           ///< births
  std::int64_t longest_need = 0;  ///< in sequence numbers
};

std::map<StackId, Place> places_of(const TraceData& data, const Growth& growth) {
  std::map<StackId, Place> places;
  for (const GrowingStorage& each : growth.storages) {
    const Storage& storage = *data.storages.find(each.storage);
    const Sequence birth = storage.span.from_seq;
    Place& place = places.try_emplace(storage.birth.stack, Place{birth, birth}).first->second;
    place.first = std::min(place.first, birth);
    place.last = std::max(place.last, birth);
    if (each.needed_until.valid())
      place.longest_need = std::max(place.longest_need, each.needed_until.value - birth.value);
  }
  return places;
}

/// Of the growing places, the most that was there at once beyond what the kept ones are needed, and was dropped later.
std::int64_t dropped_later(const TraceData& data, const Growth& growth, const Rounds& rounds) {
  const std::map<StackId, Place> places = places_of(data, growth);
  std::set<StorageId> kept;
  for (const GrowingStorage& each : growth.storages) kept.insert(each.storage);
  std::vector<std::pair<Sequence, std::int64_t>> changes;
  for (const Storage& storage : data.storages) {
    const auto place = places.find(storage.birth.stack);
    if (place == places.end() || kept.contains(storage.id) || !storage.span.ended()) continue;
    const auto& [first, last, longest_need] = place->second;
    if (storage.span.from_seq < first || storage.span.to_seq > last) continue;
    const Sequence needed_until(storage.span.from_seq.value + longest_need);
    if (rounds.at(storage.span.to_seq) < rounds.at(needed_until) + kRoundsLater) continue;
    changes.emplace_back(needed_until, storage.bytes.value);
    changes.emplace_back(storage.span.to_seq, -storage.bytes.value);
  }
  std::ranges::sort(changes);
  std::int64_t now = 0, most = 0;
  for (const auto& [at, change] : changes) most = std::max(most, now += change);
  return most;
}

/// What of many rounds is needed at once.
std::int64_t in_windows(const TraceData& data, const Growth& growth, const Rounds& rounds, Sequence at) {
  struct Window {
    std::set<std::size_t> rounds;
    std::int64_t bytes = 0;
  };
  std::map<StackId, Window> windows;
  for (const GrowingStorage& each : growth.storages) {
    const Storage& storage = *data.storages.find(each.storage);
    if (!each.frees || storage.span.from_seq > at || each.needed_until <= at) continue;
    Window& window = windows[storage.birth.stack];
    window.rounds.insert(rounds.at(storage.span.from_seq));
    window.bytes += each.bytes.value;
  }
  std::int64_t bytes = 0;
  for (const auto& [stack, window] : windows) bytes += window.rounds.size() >= kLongWindow ? window.bytes : 0;
  return bytes;
}

}  // namespace

bool may_have_to_stay(const TraceData& data, const Growth& growth, Sequence peak, std::int64_t much) {
  if (cycle_text::is_cycle(growth.holder)) return is_frozen(data, growth);
  const Rounds rounds = Rounds::steps_or_calls(data);
  return dropped_later(data, growth, rounds) >= much || in_windows(data, growth, rounds, peak) >= much;
}

}  // namespace dcmt::analyzer
