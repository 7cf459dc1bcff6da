#include "analyzer/growth/small_counted.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "trace/base/followed_bytes.h"

namespace dcmt::analyzer {
namespace {

/// Before a size had rows, a place may have made so many times as much of it as later.
constexpr double kFewMore = 1.5;

}  // namespace

SmallCounted::SmallCounted(const TraceData& data, const Rounds& rounds, const std::vector<GrowingStorage>& storages,
                           std::int64_t bytes, Sequence read)
    : rounds_(rounds) {
  for (const Storage& storage : data.storages) {
    if (storage.bytes.value >= kFollowedBytes) births_.push_back({storage.span.from_seq, storage.birth.stack});
  }
  std::ranges::sort(births_, {}, &Birth::at);
  std::map<std::pair<StackId, std::size_t>, ByRound> rows;  // by place and size
  std::map<std::size_t, Added> turns;                       // by round: the first birth and the last end of use
  bool has_followed = false;
  for (const GrowingStorage& each : storages) {
    const Storage& storage = *data.storages.find(each.storage);
    const Sequence from = storage.span.from_seq;
    const Added added{from, each.frees ? each.needed_until : Sequence(), static_cast<double>(each.bytes.value)};
    const auto [turn, is_new] = turns.try_emplace(rounds.at(from), added);
    const bool is_needed = !is_new && (!turn->second.until.valid() || !added.until.valid());
    turn->second.until = is_needed ? Sequence() : std::max(turn->second.until, added.until);
    has_followed |= each.bytes.value >= kFollowedBytes;
    if (each.bytes.value < kFollowedBytes)
      rows[{storage.birth.stack, size_class_of(each.bytes.value)}][rounds.at(from)].push_back(added);
  }
  if (turns.empty()) return;
  std::vector<Added> before;
  for (const auto& [size, of_size] : rows) add_before(of_size, has_followed ? turns.begin()->first : 0, before);
  std::ranges::stable_sort(before, std::greater(), &Added::from);
  std::map<Sequence, double> from;
  auto rest = static_cast<double>(bytes);
  double sum = 0;
  for (const Added& each : before) sum += each.bytes;
  // A few more than those that were made later, or nothing else with which they may have come.
  const bool is_of_before = sum > 0 && (!has_followed || rest <= kFewMore * sum);
  // With others that have rows from the begin on, less of each: sizes vary. Without, the holder may have had nothing
  // before the latest.
  const double scale = is_of_before ? has_followed ? rest / sum : std::max(1.0, rest / sum) : 1;
  for (const Added& each : before) {
    if (rest <= 0) break;
    const double part = std::min(rest, scale * each.bytes);
    rest -= part;
    if (each.until.valid()) from[each.until] += part;
    const auto [turn, is_new] = turns.try_emplace(rounds.at(each.from), each);
    if (!is_new && turn->second.until.valid()) turn->second.until = std::max(turn->second.until, each.until);
  }
  const auto by_then = std::ranges::count_if(turns, [&](const auto& turn) { return turn.second.from <= read; });
  for (const auto& [round, turn] : turns) {
    if (turn.until.valid() && by_then > 0) from[turn.until] += rest / static_cast<double>(by_then);
  }
  double all = 0;
  for (const auto& [at, more] : from) kept_.push_back({at, static_cast<std::int64_t>(all += more)});
}

void SmallCounted::add_before(const ByRound& rows, std::size_t first_of_all, std::vector<Added>& before) {
  if (rows.size() < 2) return;
  const std::size_t first = rows.begin()->first;
  const double apart = static_cast<double>(rows.rbegin()->first - first) / static_cast<double>(rows.size() - 1);
  const auto& [round, pattern] = *std::next(rows.begin());  // the first one may have some in the sums
  const auto bytes_in = [](const std::vector<Added>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0, [](double sum, const Added& each) { return sum + each.bytes; });
  };
  double later = 0;
  for (auto each = std::next(rows.begin()); each != rows.end(); ++each) later += bytes_in(each->second);
  const double share = later / static_cast<double>(rows.size() - 1) / bytes_in(pattern);
  for (double at = static_cast<double>(first) - apart; at > static_cast<double>(first_of_all) - 0.5; at -= apart) {
    const std::size_t rounds_before = round - static_cast<std::size_t>(std::max(at, 0.0) + 0.5);
    for (const Added& each : pattern) {
      before.push_back({.from = same_point(each.from, rounds_before),
                        .until = each.until.valid() ? same_point(each.until, rounds_before) : Sequence(),
                        .bytes = share * each.bytes});
    }
  }
}

const SmallCounted::ByPlace& SmallCounted::births_in(std::size_t round) {
  const auto [found, is_new] = births_in_.try_emplace(round);
  if (!is_new) return found->second;
  const Sequence end = rounds_.end(round);
  for (auto birth = std::ranges::lower_bound(births_, begin_of(round), {}, &Birth::at);
       birth != births_.end() && (!end.valid() || birth->at < end); ++birth)
    found->second[birth->place].push_back(birth->at);
  return found->second;
}

Sequence SmallCounted::same_point(Sequence then, std::size_t rounds_before) {
  const std::size_t round = rounds_.at(then);
  if (round < rounds_before) return Sequence(1);
  const Sequence begin = begin_of(round);
  const ByPlace& others = births_in(round - rounds_before);
  for (auto birth = std::ranges::upper_bound(births_, then, {}, &Birth::at);
       birth != births_.begin() && (--birth)->at >= begin;) {
    const auto same = others.find(birth->place);
    if (same == others.end()) continue;
    const std::vector<Sequence>& all = births_in(round).at(birth->place);
    const auto number = static_cast<std::size_t>(std::ranges::lower_bound(all, birth->at) - all.begin());
    return same->second[std::min(number, same->second.size() - 1)];
  }
  return std::max(Sequence(1), begin_of(round - rounds_before));
}

}  // namespace dcmt::analyzer
