#include "analyzer/rules/small_kept.h"

#include <algorithm>
#include <iterator>
#include <queue>

#include "analyzer/storages/group_names.h"

namespace dcmt::analyzer {
namespace {

/// Steps in which a program makes what it keeps for good.
constexpr std::size_t kFirst = 2;

/// What of the small storages the program itself needs: those of the rounds of growing ones that it needs.
class Needed {
 public:
  /// @param storages  in the order of creation
  Needed(const TraceData& data, const Rounds& rounds, const std::vector<GrowingStorage>& storages) : rounds_(rounds) {
    std::vector<std::size_t> lasted;
    for (const GrowingStorage& each : storages) {
      if (!each.needed_until.valid()) continue;
      lives_.push_back({data.storages.find(each.storage)->span.from_seq, each.needed_until});
      const auto& [from, to] = lives_.back();
      lasted.push_back(to > from ? rounds.at(Sequence(to.value - 1)) - rounds.at(from) : 0);
    }
    if (lasted.empty()) return;
    const auto middle = lasted.begin() + static_cast<std::ptrdiff_t>(lasted.size() / 2);
    std::ranges::nth_element(lasted, middle);
    usually_ = *middle;
  }

  /// What was made before is kept for nothing. To be called with ascending points.
  Sequence kept_before(Sequence now) {
    for (; next_ < lives_.size() && lives_[next_].from <= now; ++next_) needed_.push(lives_[next_]);
    while (!needed_.empty() && needed_.top().to <= now) {
      last_ended_ = std::max(last_ended_, needed_.top().from);
      needed_.pop();
    }
    if (!needed_.empty()) return begin_of(rounds_.at(needed_.top().from));
    const std::size_t round = rounds_.at(now);
    if (last_ended_.valid()) return std::max(begin_of(round), last_ended_);
    return round > usually_ ? begin_of(round - usually_) : Sequence();
  }

 private:
  struct Life {
    Sequence from, to;
    friend bool operator<(const Life& a, const Life& b) { return b.from < a.from; }  // the oldest is on top
  };
  [[nodiscard]] Sequence begin_of(std::size_t round) const { return round == 0 ? Sequence() : rounds_.end(round - 1); }

  const Rounds& rounds_;
  std::vector<Life> lives_;
  std::size_t next_ = 0;
  std::priority_queue<Life> needed_;
  Sequence last_ended_;
  std::size_t usually_ = 0;  ///< so many rounds after its own
};

}  // namespace

SmallKept::SmallKept(const TraceData& data, StringId device, Sequence until)
    : data_(data), until_(until), steps_(Rounds::steps(data)) {
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

std::vector<Gap> SmallKept::gaps(const Found& found, const Rounds& rounds, const std::vector<GrowingStorage>& storages,
                                 Sequence since) const {
  const Scan* scan = data_.owners.scan(found.scan);
  std::vector<Gap> gaps;
  if (scan == nullptr || of_containers_ == 0) return gaps;
  const std::int64_t others = others_at(scan->from, rounds, since);
  const double share = static_cast<double>(found.bytes.value) / static_cast<double>(of_containers_);
  Needed needed(data_, rounds, storages);
  for (const Sum& sum : sums_) {
    const Span& span = sum.block->span;
    // What is needed may change while the sum stays the same.
    for (Sequence now = span.from_seq, next; now.valid(); now = next) {
      const std::int64_t kept = std::min(stays_at(needed.kept_before(now)) - others, sum.block->bytes.value);
      const Bytes part(static_cast<std::int64_t>(share * static_cast<double>(kept)));
      next = rounds.end(rounds.at(now));
      if (span.ended() && next >= span.to_seq) next = {};
      if (part.value > 0) gaps.push_back({.block = sum.block, .from = now, .to = next, .part = part});
    }
  }
  return gaps;
}

std::int64_t SmallKept::others_at(Sequence read, const Rounds& rounds, Sequence since) const {
  std::int64_t others = stays_at(std::min(read, until_)) - of_containers_;
  if (!since.valid()) return others;
  others = std::max(others, stays_at(since));
  // A reading may come when all else has ended. What was added in the first steps alone is something else's, such as an
  // optimizer's state.
  const Rounds& turns = steps_.size() > 0 ? steps_ : rounds;
  const std::size_t first = turns.at(since) + kFirst, last = turns.at(std::min(read, until_));
  if (first + 1 >= last) return others;
  const std::int64_t early = stays_at(turns.end(first - 1)), late = stays_at(turns.end(last - 2));
  const bool was_added_later = late - others <= 2 * (late - early);
  return was_added_later ? others : std::max(others, early);
}

}  // namespace dcmt::analyzer
