#include "analyzer/growth/small_kept.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <queue>
#include <set>

#include "analyzer/growth/small_counted.h"
#include "analyzer/storages/group_names.h"
#include "analyzer/storages/stacks.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::analyzer {
namespace {

/// Steps in which a program makes what it keeps for good.
constexpr std::size_t kFirst = 2;
/// What has grown from the begin on has added at least this share of what it adds later.
constexpr double kFromBegin = 0.75;

/// A reading that counted less of what the sums had before sizes got rows has not seen all.
constexpr double kCountedAll = 0.9;

/// What of the small storages the program itself needs: those of the rounds of growing ones that it needs.
class Needed {
 public:
  /// @param storages  in the order of creation
  Needed(const TraceData& data, const Rounds& rounds, const std::vector<GrowingStorage>& storages) : rounds_(rounds) {
    std::vector<Lasted> lasted;
    for (const GrowingStorage& each : storages) {
      if (!each.needed_until.valid()) continue;
      lives_.push_back({data.storages.find(each.storage)->span.from_seq, each.needed_until});
      const auto& [from, to] = lives_.back();
      lasted.push_back(to > from ? Lasted{rounds.at(Sequence(to.value - 1)) - rounds.at(from), part_of_round(to)}
                                 : Lasted());
    }
    if (lasted.empty()) return;
    const auto middle = lasted.begin() + static_cast<std::ptrdiff_t>(lasted.size() / 2);
    std::ranges::nth_element(lasted, middle);
    usually_ = *middle;
  }

  /// Of what stays, as a function of a point, what is there now for nothing. To be called with ascending points.
  std::int64_t kept(Sequence now, auto&& stays_at) {
    for (; next_ < lives_.size() && lives_[next_].from <= now; ++next_) {
      needed_.push(lives_[next_]);
      ++in_round_[rounds_.at(lives_[next_].from)];
    }
    for (; !needed_.empty() && needed_.top().to <= now; needed_.pop()) {
      const Sequence from = needed_.top().from;
      last_ended_ = std::max(last_ended_, from);
      const auto round = in_round_.find(rounds_.at(from));
      if (--round->second == 0) in_round_.erase(round);
    }
    std::int64_t kept = stays_at(made_before(now));
    for (const auto& [round, count] : in_round_) {
      if (round < rounds_.at(now)) kept -= stays_at(rounds_.end(round)) - stays_at(begin_of(round));
    }
    return kept;
  }

 private:
  /// Rounds after its own, and the part of the last of them.
  struct Lasted {
    std::size_t rounds = 0;
    double part = 1;
    friend auto operator<=>(const Lasted&, const Lasted&) = default;
  };
  [[nodiscard]] double part_of_round(Sequence at) const {
    const std::size_t round = rounds_.at(at);
    const Sequence begin = begin_of(round), end = rounds_.end(round);
    if (!end.valid()) return 0;
    return static_cast<double>(at.value - begin.value) / static_cast<double>(end.value - begin.value);
  }
  /// What was made before is kept for nothing, unless its round is needed.
  [[nodiscard]] Sequence made_before(Sequence now) const {
    std::size_t round = rounds_.at(now);
    if (in_round_.contains(round)) return begin_of(round);
    if (last_ended_.valid()) return std::max(begin_of(round), last_ended_);
    if (!in_round_.empty()) return begin_of(round);
    if (usually_.rounds > 0 && part_of_round(now) >= usually_.part) ++round;
    return round > usually_.rounds ? begin_of(round - usually_.rounds) : Sequence();
  }
  struct Life {
    Sequence from, to;
    friend bool operator<(const Life& a, const Life& b) { return b.to < a.to; }  // the one that ends first is on top
  };
  [[nodiscard]] Sequence begin_of(std::size_t round) const { return round == 0 ? Sequence() : rounds_.end(round - 1); }

  const Rounds& rounds_;
  std::vector<Life> lives_;
  std::size_t next_ = 0;
  std::priority_queue<Life> needed_;
  std::map<std::size_t, std::int64_t> in_round_;  ///< of these, by the round that made them
  Sequence last_ended_;
  Lasted usually_;
};

}  // namespace

SmallKept::SmallKept(const TraceData& data, StringId device, Sequence until)
    : data_(data), until_(until), turns_(Rounds::steps_or_calls(data)) {
  for (const auto& [from, block] : data.blocks_by_begin) {
    if (block->device != device || !is_sum_of_small_blocks(data, *block)) continue;
    sums_.push_back({block, block->bytes.value});
  }
  // After the growth, what was kept may go.
  for (std::size_t i = sums_.size(); i-- > 1;) {
    const bool is_kept = sums_[i].block->span.from_seq <= until;
    if (is_kept) sums_[i - 1].stays = std::min(sums_[i - 1].stays, sums_[i].stays);
  }
}

std::int64_t SmallKept::stays_at(Sequence at) const {
  const auto after = std::ranges::upper_bound(sums_, at, {}, [](const Sum& sum) { return sum.block->span.from_seq; });
  return after != sums_.begin() ? std::prev(after)->stays : 0;
}

Sequence SmallKept::first_work(const std::vector<GrowingStorage>& storages) const {
  std::set<StackId> callers;
  for (const GrowingStorage& each : storages)
    callers.insert(caller_of_site(data_, data_.storages.find(each.storage)->birth.stack));
  callers.erase(StackId());
  if (callers.empty()) return {};
  std::map<StackId, bool> leads;  // by place
  for (const Storage& storage : data_.storages) {
    if (storage.bytes.value < kFollowedBytes) continue;
    const auto [place, is_new] = leads.try_emplace(storage.birth.stack);
    if (is_new) {
      const Stack* stack = data_.stacks.find(storage.birth.stack);
      while (stack != nullptr && !callers.contains(stack->id)) stack = data_.stacks.find(stack->parent);
      place->second = stack != nullptr;
    }
    if (place->second) return storage.span.from_seq;
  }
  return {};
}

std::optional<SmallKept::Earlier> SmallKept::earlier(const Holder& holder) const {
  struct OfSize {
    std::set<std::size_t> adding;  // rounds
    Sequence first;
    std::int64_t bytes = 0;
  };
  const Rounds& rounds = turns_of(holder);
  std::map<std::size_t, OfSize> sizes;
  for (const GrowingStorage& each : holder.storages) {
    if (!each.frees || each.bytes.value >= kFollowedBytes) continue;
    const auto [size, is_new] = sizes.try_emplace(size_class_of(each.bytes.value));
    const Sequence made = data_.storages.find(each.storage)->span.from_seq;
    if (is_new) size->second.first = made;
    size->second.adding.insert(rounds.at(made));
    size->second.bytes += each.bytes.value;
  }
  double in_first = 0, then = 0;  // as much as later
  Sequence last;
  for (const auto& [size, of_size] : sizes) {
    const std::size_t first = *of_size.adding.begin(), adding = of_size.adding.size();
    if (first <= kFirst || adding < 2) continue;
    const double apart = static_cast<double>(*of_size.adding.rbegin() - first) / static_cast<double>(adding - 1);
    const double bytes = static_cast<double>(of_size.bytes) / static_cast<double>(adding);
    for (double at = static_cast<double>(first) - apart; at > -0.5; at -= apart)
      (at < static_cast<double>(kFirst) - 0.5 ? in_first : then) += bytes;
    last = std::max(last, of_size.first);
  }
  if (!last.valid() || then == 0) return std::nullopt;
  const std::int64_t early = stays_at(rounds.end(kFirst - 1)), rise = stays_at(last) - early;
  if (rise <= 0) return std::nullopt;
  const double share = static_cast<double>(rise) / then;
  in_first *= share >= kFromBegin ? share : 0;
  std::int64_t others = std::max<std::int64_t>(0, early - static_cast<std::int64_t>(in_first));
  if (const Sequence began = first_work(holder.storages); began.valid()) {
    const std::int64_t before = stays_at(began);
    others = rounds.kind() == RoundKind::kCall ? before : std::max(others, before);
  }
  return Earlier{stays_at(last) - others, others};
}

const Rounds& SmallKept::turns_of(const Holder& holder) const {
  const bool are_calls = holder.rounds->kind() == RoundKind::kCall && turns_.kind() == RoundKind::kCall;
  return are_calls && turns_.size() > 0 ? turns_ : *holder.rounds;
}

std::int64_t SmallKept::bytes_of(const Holder& holder) const {
  if (std::ranges::none_of(holder.storages, &GrowingStorage::frees)) return 0;
  const std::optional<Earlier> earlier = this->earlier(holder);
  return std::max(holder.found.bytes.value, earlier ? earlier->bytes : 0);
}

void SmallKept::add(const Holder& holder) {
  of_containers_ += holder.found.bytes.value;
  of_holders_ += bytes_of(holder);
}

std::vector<Gap> SmallKept::gaps(const Holder& holder) const {
  std::vector<Gap> gaps;
  const std::int64_t bytes = bytes_of(holder);
  if (bytes == 0) return gaps;
  if (is_counted(holder)) return gaps_of_counted(holder);
  const Rounds& rounds = turns_of(holder);
  std::int64_t others = std::numeric_limits<std::int64_t>::max();
  if (const Scan* scan = data_.owners.scan(holder.found.scan); scan != nullptr && holder.found.bytes.value > 0)
    others = others_at(scan->from, rounds, holder.since);
  if (const auto earlier = this->earlier(holder))
    others = std::min(others, std::max(earlier->others, holder.since.valid() ? stays_at(holder.since) : 0));
  const double share = static_cast<double>(bytes) / static_cast<double>(of_holders_);
  Needed needed(data_, rounds, holder.storages);
  const auto stays = [this](Sequence at) { return at.valid() ? stays_at(at) : 0; };
  for (const Sum& sum : sums_) {
    const Span& span = sum.block->span;
    // What is needed may change while the sum stays the same.
    for (Sequence now = span.from_seq, next; now.valid(); now = next) {
      const std::int64_t kept = std::min(needed.kept(now, stays) - others, sum.block->bytes.value);
      const Bytes part(static_cast<std::int64_t>(share * static_cast<double>(kept)));
      next = rounds.end(rounds.at(now));
      if (span.ended() && next >= span.to_seq) next = {};
      if (part.value > 0) gaps.push_back({.block = sum.block, .from = now, .to = next, .part = part});
    }
  }
  return gaps;
}

bool SmallKept::is_counted(const Holder& holder) const {
  const std::optional<Earlier> earlier = this->earlier(holder);
  return holder.found.bytes.value > 0 && (!earlier || static_cast<double>(holder.found.bytes.value) >=
                                                          kCountedAll * static_cast<double>(earlier->bytes));
}

std::vector<Gap> SmallKept::gaps_of_counted(const Holder& holder) const {
  std::vector<Gap> gaps;
  const Scan* scan = data_.owners.scan(holder.found.scan);
  if (scan == nullptr) return gaps;
  const SmallCounted counted(data_, turns_of(holder), holder.storages, holder.found.bytes.value, scan->from);
  const std::vector<SmallCounted::Kept>& kept = counted.kept();
  std::size_t next = 0;
  for (const Sum& sum : sums_) {
    const Span& span = sum.block->span;
    while (next < kept.size() && kept[next].from <= span.from_seq) ++next;
    const auto add = [&](std::size_t last, Sequence from, Sequence to) {
      const Bytes part(std::min({kept[last].bytes, stays_at(from), sum.block->bytes.value}));
      if (part.value > 0) gaps.push_back({.block = sum.block, .from = from, .to = to, .part = part});
    };
    // What is needed may change while the sum stays the same.
    std::size_t last = next;
    for (; last < kept.size() && (!span.ended() || kept[last].from < span.to_seq); ++last) {
      const Sequence from = last == next ? span.from_seq : kept[last - 1].from;
      if (last > 0) add(last - 1, from, kept[last].from);
    }
    if (last > 0) add(last - 1, last == next ? span.from_seq : kept[last - 1].from, {});
  }
  return gaps;
}

std::int64_t SmallKept::others_at(Sequence read, const Rounds& turns, Sequence since) const {
  std::int64_t others = stays_at(std::min(read, until_)) - of_containers_;
  if (!since.valid()) return others;
  others = std::max(others, stays_at(since));
  // A reading may come when all else has ended. What was added in the first steps alone is something else's, such as an
  // optimizer's state.
  const std::size_t first = turns.at(since) + kFirst, last = turns.at(std::min(read, until_));
  if (first + 1 >= last) return others;
  const std::int64_t early = stays_at(turns.end(first - 1)), late = stays_at(turns.end(last - 2));
  const bool was_added_later = late - others <= 2 * (late - early);
  return was_added_later ? others : std::max(others, early);
}

}  // namespace dcmt::analyzer
