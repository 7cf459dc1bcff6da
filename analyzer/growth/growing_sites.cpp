#include "analyzer/growth/growing_sites.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "analyzer/growth/work_clock.h"
#include "analyzer/storages/holder_names.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/storages/storage_bytes.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {
namespace {

/// What is made together, as a model or a data set, spans less of the run's work than this: in work, and as a share.
constexpr double kLeastWork = 4, kLeastShareOfWork = 0.1;
/// Each quarter of the growth has at least this share of an average quarter.
constexpr double kEven = 0.3;
/// More must live on than this many times what was alive at once before, and longer than what has died lived. A ring or
/// a pool was full before.
constexpr double kBeyond = 2;
/// As many as live on must have become alive at once, by this share: of those that a place replaces, as in a sample of
/// what came by, others were there before.
constexpr double kMoreAtOnce = 0.25;
/// Growth has ended if it pauses for this many times its longest pause so far.
constexpr double kLongPause = 2;
/// The program's other work goes on without growth if it makes this share of what it made beside it before.
constexpr double kGoesOn = 0.5;

/// A place's storages become larger with those of another place: from the first half of a stretch to the second, at
/// least by this share of the other's growth.
constexpr double kGrowsWith = 0.25;

/// A storage takes the place of one that was there before if at least this share of its bytes ends before the next one
/// is made; the same share of all storages must do so.
constexpr double kConverted = 0.5;

/// Other storages that a place may make between two that replace each other.
constexpr std::ptrdiff_t kMostBeside = 64;

using Born = std::vector<const Storage*>;  // in the order of birth

/// The followed storages of a run, by the place that made them.
class Places {
 public:
  /// @param turns  ends of steps and backward passes, ascending
  Places(const TraceData& data, Sequence end, std::vector<Sequence> turns)
      : data_(data),
        end_(end),
        clocks_{WorkClock(data, end, turns, Work::kEnds), WorkClock(data, end, turns, Work::kSmallToo),
                WorkClock(data, end, turns, Work::kTurnsOnly)},
        large_made_(data, end, turns, Work::kLargeMade),
        turns_(std::move(turns)) {
    for (const Storage& storage : data.storages) {
      if (storage.bytes.value > 0 && storage.span.from_seq <= end && !is_gathered(data, storage.id))
        born_[storage.birth.stack].push_back(&storage);
    }
    for (auto& [stack, born] : born_) std::ranges::sort(born, {}, from_of);
  }

  [[nodiscard]] const std::unordered_map<StackId, Born>& born() const { return born_; }

  /// The storages of a place that live on, if they become more and more; else empty.
  [[nodiscard]] Born growing(const Born& born) const;
  /// Series of a place's storages, each of which replaced a smaller one: one series for each that lives on. Else empty.
  [[nodiscard]] std::vector<Born> replacing(const Born& born) const;

 private:
  static Sequence from_of(const Storage* storage) { return storage->span.from_seq; }
  [[nodiscard]] bool lives_on(const Storage* storage) const {
    return storage->span.covers(end_) && bytes_at(data_, *storage, end_).value > 0;
  }
  [[nodiscard]] static bool is_even(const WorkClock& clock, const Born& kept);
  [[nodiscard]] bool last_is_kept(const Born& kept) const;
  [[nodiscard]] bool is_beyond(const WorkClock& clock, const Born& born, const Born& kept) const;
  [[nodiscard]] bool are_more_at_once(const Born& born, const Born& kept) const;
  [[nodiscard]] static bool outgrows(const Born& born, const Born& chain);
  [[nodiscard]] ThreadId trained_in(const Born& kept) const;
  [[nodiscard]] bool goes_on(const Born& born, const Born& kept) const;
  [[nodiscard]] bool goes_on(const WorkClock& clock, const Born& born, const Born& kept) const;
  [[nodiscard]] bool converts(const Born& kept) const;
  [[nodiscard]] bool most_places_grow(const Born& chain) const;
  [[nodiscard]] static Born chain_to(const Born& born, Born::const_reverse_iterator last);
  [[nodiscard]] static Born every(const Born& born, Born::const_reverse_iterator last, std::ptrdiff_t interval);

  const TraceData& data_;
  const Sequence end_;
  /// Where a program works on small values only, nothing ends that is tracked. And a compiler in the first turns of a
  /// loop makes and drops more than all later turns do.
  const std::array<WorkClock, 3> clocks_;
  /// Says when, but not whether the program goes on.
  const WorkClock large_made_;
  const std::vector<Sequence> turns_;
  std::unordered_map<StackId, Born> born_;
};

double work_at(const WorkClock& clock, const Storage* storage) { return clock.at(storage->span.from_seq); }

/// What lives on was born all along a stretch of the program's work.
bool Places::is_even(const WorkClock& clock, const Born& kept) {
  const double first = work_at(clock, kept.front());
  const double span = work_at(clock, kept.back()) - first;
  if (span < kLeastWork || span < kLeastShareOfWork * clock.total()) return false;
  std::array<std::size_t, 4> quarters{};
  std::size_t births = 0;
  double before = -1;
  for (const Storage* each : kept) {
    const double at = work_at(clock, each);
    births += at != before ? 1 : 0;
    before = at;
    ++quarters[std::min<std::size_t>(3, static_cast<std::size_t>(4 * (at - first) / span))];
  }
  return births >= kFewestBirths &&
         static_cast<double>(*std::ranges::min_element(quarters)) >= kEven * static_cast<double>(kept.size()) / 4;
}

/// True if a reading found the latest storage in a container, or in a cycle that nothing frees. Else a variable may
/// have it, until its next value.
bool Places::last_is_kept(const Born& kept) const {
  const StorageId last = kept.back()->id;
  const Held* held = data_.owners.of(last);
  if (held == nullptr) return false;
  const auto paths = data_.owners.paths_to(last);
  return !held->containers.empty() || (!paths.empty() && is_lasting_cycle(data_.text(paths.front().path)));
}

bool Places::is_beyond(const WorkClock& clock, const Born& born, const Born& kept) const {
  const Sequence first = kept.front()->span.from_seq;
  std::vector<std::pair<Sequence, int>> changes;  // a new value is made before a variable drops the one before
  double longest = 0;
  for (const Storage* each : born) {
    const bool ended = each->span.ended() && each->span.to_seq <= end_;
    if (each->span.from_seq < first) {
      changes.emplace_back(each->span.from_seq, 1);
      if (ended) changes.emplace_back(each->span.to_seq, -1);
    }
    if (ended && each->span.to_seq > first)
      longest = std::max(longest, clock.at(each->span.to_seq) - work_at(clock, each));
  }
  std::ranges::sort(changes);
  std::int64_t alive = 0, most = 0;
  for (const auto& [at, change] : changes) {
    if (change > 0) most = std::max(most, alive);
    alive += change;
  }
  return static_cast<double>(kept.size()) > kBeyond * static_cast<double>(most) &&
         clock.total() - work_at(clock, kept.front()) > kBeyond * longest;
}

/// True if more and more of the place's storages are alive at once: in each quarter of the growth the fewest of them
/// count, so that what the program makes and drops beside them does not. Half of the growth before the last quarter and
/// half of it before the last but one must show it. What happens to live on may be as many at any time.
bool Places::are_more_at_once(const Born& born, const Born& kept) const {
  std::vector<std::pair<Sequence, int>> changes;
  for (const Storage* each : born) {
    changes.emplace_back(each->span.from_seq, 1);
    if (each->span.ended() && each->span.to_seq <= end_) changes.emplace_back(each->span.to_seq, -1);
  }
  std::ranges::sort(changes);
  std::array<std::int64_t, 4> fewest{};
  std::int64_t alive = 0;
  auto change = changes.begin();
  const auto pass_to = [&](std::size_t index, auto&& see) {
    const Sequence to = kept[std::min(index, kept.size() - 1)]->span.from_seq;
    for (; change != changes.end() && change->first < to; ++change) see(alive += change->second);
  };
  pass_to(0, [](std::int64_t) {});
  for (std::size_t quarter = 0; quarter < 4; ++quarter) {
    std::int64_t& least = fewest[quarter] = alive;
    pass_to((quarter + 1) * kept.size() / 4, [&](std::int64_t now) { least = std::min(least, now); });
  }
  const double more = kMoreAtOnce * static_cast<double>(kept.size());
  const auto rises = [&](std::size_t from, std::size_t to, double by) {
    return static_cast<double>(fewest[to] - fewest[from]) >= by;
  };
  return rises(0, 3, more) && rises(0, 2, kEven * more) && rises(1, 3, kEven * more);
}

/// False if the place had nearly as large a value before, as a cache of keys and values that each request fills.
bool Places::outgrows(const Born& born, const Born& chain) {
  Bytes before;
  for (const Storage* each : born) {
    if (each->span.from_seq < chain.front()->span.from_seq) before = std::max(before, each->bytes);
  }
  return static_cast<double>(chain.back()->bytes.value) > kBeyond * static_cast<double>(before.value);
}

/// By each clock: what one of them does not count may be all that the program still does.
bool Places::goes_on(const Born& born, const Born& kept) const {
  return std::ranges::all_of(clocks_, [&](const WorkClock& clock) { return goes_on(clock, born, kept); });
}

/// The thread that made the storages, if it has trained meanwhile by itself: what others do says nothing of its loop.
ThreadId Places::trained_in(const Born& kept) const {
  const ThreadId thread = kept.front()->birth.thread;
  if (!std::ranges::all_of(kept, [&](const Storage* each) { return each->birth.thread == thread; })) return kNoThread;
  const auto is_turn = [&](const Mark& mark) {
    return mark.by.thread == thread && (mark.kind == MarkKind::kStep || is_phase(data_, &mark, "backward")) &&
           mark.span.from_seq >= kept.front()->span.from_seq && mark.span.from_seq <= kept.back()->span.from_seq;
  };
  const auto turns = static_cast<std::size_t>(std::ranges::count_if(data_.marks, is_turn));
  return turns + 1 >= kFewestBirths ? thread : kNoThread;
}

/// True unless the program goes on without growth, as beside a cache that is full, or had only prepared its work.
bool Places::goes_on(const WorkClock& clock, const Born& born, const Born& kept) const {
  double longest = 0;
  for (std::size_t i = 1; i < kept.size(); ++i)
    longest = std::max(longest, work_at(clock, kept[i]) - work_at(clock, kept[i - 1]));
  const double last = work_at(clock, kept.back());
  const double pause = clock.total() - last;
  if (pause <= kLongPause * longest) return true;
  const Sequence from = kept.front()->span.from_seq, to = kept.back()->span.from_seq;
  const auto turns = [&](Sequence since, Sequence until) {
    return std::ranges::upper_bound(turns_, until) - std::ranges::lower_bound(turns_, since);
  };
  if (turns(from, to) < static_cast<std::ptrdiff_t>(kFewestBirths) - 1) return false;
  const ThreadId thread = trained_in(kept);
  const auto count = [&](auto begin, auto end) {
    const auto counts = [&](const Storage* each) { return thread == kNoThread || each->birth.thread == thread; };
    return static_cast<double>(std::count_if(begin, end, counts));
  };
  double beside = 0, after = 0;  // births of other places that made storages between those that live on
  for (const auto& [stack, others] : born_) {
    if (others.front() == born.front()) continue;
    const auto begin = std::ranges::lower_bound(others, from, {}, from_of);
    const auto end = std::ranges::upper_bound(others, to, {}, from_of);
    if (end - begin < static_cast<std::ptrdiff_t>(kFewestBirths) - 1) continue;
    beside += count(begin, end);
    after += count(end, others.end());
  }
  return after / pause < kGoesOn * beside / (last - work_at(clock, kept.front()));
}

/// The mean size in the second half beside that in the first half.
double growth_of(std::span<const Storage* const> born) {
  const auto mean = [](std::span<const Storage* const> some) {
    double bytes = 0;
    for (const Storage* each : some) bytes += static_cast<double>(each->bytes.value);
    return bytes / static_cast<double>(some.size());
  };
  const std::size_t half = born.size() / 2;
  return mean(born.last(half)) / mean(born.first(half));
}

/// True if most of the places that work beside the chain make larger and larger storages, too, as with batches that are
/// sorted by length. Then a value is not larger because it contains the one before.
bool Places::most_places_grow(const Born& chain) const {
  const double least = 1 + kGrowsWith * (growth_of(chain) - 1);
  std::set<StackId> own;
  for (const Storage* each : chain) own.insert(each->birth.stack);
  std::size_t places = 0, grow = 0;
  for (const auto& [stack, others] : born_) {
    if (own.contains(stack)) continue;
    const auto begin = std::ranges::lower_bound(others, chain.front()->span.from_seq, {}, from_of);
    const auto end = std::ranges::upper_bound(others, chain.back()->span.from_seq, {}, from_of);
    if (end - begin < static_cast<std::ptrdiff_t>(kFewestBirths) - 1) continue;
    ++places;
    grow += growth_of(std::span(begin, end)) >= least ? 1 : 0;
  }
  return 2 * grow > places;
}

/// True if the storages take the place of others that were there before the first of them, one by one, as
/// `p.data = p.data.to(dtype)` does for all parameters: the program does not have more and more then.
bool Places::converts(const Born& kept) const {
  std::vector<double> ended(kept.size());  // bytes, until the next one is made
  for (const Storage& storage : data_.storages) {
    if (storage.span.from_seq >= kept.front()->span.from_seq || !storage.span.ended()) continue;
    const auto next = std::ranges::upper_bound(kept, storage.span.to_seq, {}, from_of);
    if (next != kept.begin() && storage.span.to_seq <= end_)
      ended[static_cast<std::size_t>(next - kept.begin()) - 1] += static_cast<double>(storage.bytes.value);
  }
  std::size_t converted = 0;
  for (std::size_t i = 0; i < kept.size(); ++i)
    converted += ended[i] >= kConverted * static_cast<double>(kept[i]->bytes.value) ? 1 : 0;
  return static_cast<double>(converted) >= kConverted * static_cast<double>(kept.size());
}

Born Places::growing(const Born& born) const {
  Born kept;
  std::ranges::copy_if(born, std::back_inserter(kept), [this](const Storage* each) { return lives_on(each); });
  const auto spreads = [&](const WorkClock& clock) { return is_even(clock, kept) && is_beyond(clock, born, kept); };
  const bool grows = kept.size() >= kFewestBirths && (kept.size() > kFewestBirths || last_is_kept(kept)) &&
                     (std::ranges::any_of(clocks_, spreads) || spreads(large_made_)) && goes_on(born, kept) &&
                     are_more_at_once(born, kept) && !converts(kept);
  return grows ? kept : Born();
}

/// True if `before` was there when `chain.back()` was made, and had gone when the one after that was.
bool was_there(const Storage& before, const Born& chain) {
  return before.span.covers(chain.back()->span.from_seq) &&
         (chain.size() == 1 || !before.span.covers(chain[chain.size() - 2]->span.from_seq));
}

/// The storages that led to `last`, the latest first, if it is the only one that lives on.
Born Places::chain_to(const Born& born, Born::const_reverse_iterator last) {
  Born chain{*last};
  for (auto before = last + 1; before != born.rend();) {
    // Of those that were alive when the larger one was made, the largest: the place may make other storages, too.
    auto largest = born.rend();
    for (auto each = before; each != born.rend(); ++each) {
      if (was_there(**each, chain) && (largest == born.rend() || (*each)->bytes >= (*largest)->bytes)) largest = each;
      if (each - before > kMostBeside) break;
    }
    if (largest == born.rend() || (*largest)->bytes >= chain.back()->bytes) break;
    chain.push_back(*largest);
    before = largest + 1;
  }
  return chain;
}

/// The same for a line that makes several storages a round, as one for each layer: each replaces that of its layer.
Born Places::every(const Born& born, Born::const_reverse_iterator last, std::ptrdiff_t interval) {
  Born chain{*last};
  for (auto each = last; born.rend() - each > interval;) {
    each += interval;
    if (!was_there(**each, chain) || (*each)->bytes >= chain.back()->bytes) break;
    chain.push_back(*each);
  }
  return chain;
}

std::vector<Born> Places::replacing(const Born& born) const {
  std::vector<Born::const_reverse_iterator> last;
  for (auto each = born.rbegin(); each != born.rend(); ++each) {
    if (lives_on(*each)) last.push_back(each);
  }
  const auto grows = [&](Born& chain) {
    std::ranges::reverse(chain);
    const auto spreads = [&](const WorkClock& clock) { return is_even(clock, chain); };
    return chain.size() >= kFewestBirths && std::ranges::any_of(clocks_, spreads) && goes_on(born, chain) &&
           outgrows(born, chain) && !most_places_grow(chain);
  };
  if (last.empty()) return {};
  if (Born chain = chain_to(born, last.front()); grows(chain)) return {std::move(chain)};
  // Not all that is there at the last birth lives on: what the latest replace may be there still.
  for (std::size_t interval = 2; interval <= last.size(); ++interval) {
    std::vector<Born> chains;
    for (std::size_t i = interval; i-- > 0;) {
      chains.push_back(every(born, last[i], static_cast<std::ptrdiff_t>(interval)));
      if (!grows(chains.back())) break;
      if (i == 0) return chains;
    }
  }
  return {};
}

using KnownRounds = std::array<std::shared_ptr<const Rounds>, 2>;  // steps, backward passes

std::vector<Sequence> turns_of(const KnownRounds& known) {
  std::vector<Sequence> turns;
  for (const auto& rounds : known) {
    for (std::size_t i = 0; i < rounds->size(); ++i) turns.push_back(rounds->end(i));
  }
  std::ranges::sort(turns);
  return turns;
}

/// Several ways through the program can lead to one line of the user's, as a training's and an evaluation's to the line
/// that appends to a value: then a value replaces that of another way. Their storages in the order of birth, by line.
std::map<FrameId, Born> of_shared_lines(const TraceData& data, const std::unordered_map<StackId, Born>& places) {
  std::map<FrameId, Born> lines;
  std::map<FrameId, int> ways;
  for (const auto& [stack, born] : places) {
    const Stack* innermost = data.stacks.find(stack);
    if (innermost == nullptr || site_of(data, stack) != innermost->frame) continue;
    Born& of_line = lines[innermost->frame];
    of_line.insert(of_line.end(), born.begin(), born.end());
    ++ways[innermost->frame];
  }
  std::erase_if(lines, [&](const auto& line) { return ways.at(line.first) < 2; });
  for (auto& [frame, born] : lines)
    std::ranges::sort(born, {}, [](const Storage* each) { return each->span.from_seq; });
  return lines;
}

/// Steps, if it grows by them; else backward passes; else its own births.
std::shared_ptr<const Rounds> rounds_of(const Born& kept, const KnownRounds& known) {
  for (const auto& rounds : known) {
    std::size_t distinct = 0, open = 0;
    std::size_t before = std::numeric_limits<std::size_t>::max();
    for (const Storage* each : kept) {
      const std::size_t round = rounds->at(each->span.from_seq);
      distinct += round != before ? 1 : 0;
      open += round == rounds->size() ? 1 : 0;
      before = round;
    }
    if (distinct >= kFewestBirths && 2 * open <= kept.size()) return rounds;
  }
  std::vector<Sequence> begins;
  for (const Storage* each : kept) begins.push_back(each->span.from_seq);
  return std::make_shared<const Rounds>(Rounds::calls(begins));
}

/// At the last birth, the program may still have what the last round drops: of its storages, those that end first are
/// left out if there are more than in any round before.
void leave_out_unfinished(std::vector<Living>& living) {
  std::map<std::size_t, std::size_t> counts;
  for (const Living& each : living) ++counts[each.round];
  if (counts.size() < 2) return;
  const std::size_t last = counts.rbegin()->first;
  std::size_t most = 0;
  for (const auto& [round, count] : counts) most = round != last ? std::max(most, count) : most;
  for (; counts[last] > most; --counts[last]) {
    const auto ends = [last](const Living& each) {
      const bool may_go = each.round == last && each.storage->span.ended();
      return may_go ? each.storage->span.to_seq : Sequence(std::numeric_limits<std::int64_t>::max());
    };
    const auto first = std::ranges::min_element(living, {}, ends);
    if (first->round != last || !first->storage->span.ended()) return;
    living.erase(first);
  }
}

/// The last birth, or the last end of a turn: those may make small storages only, which are not followed.
Sequence end_of_work(const TraceData& data, const std::vector<Sequence>& turns) {
  Sequence last = turns.empty() ? Sequence() : turns.back();
  for (const Storage& storage : data.storages) {
    // A storage whose birth was not recorded can have its end as its first sight.
    if (storage.span.to_seq != storage.span.from_seq) last = std::max(last, storage.span.from_seq);
  }
  return last;
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

}  // namespace

std::vector<Series> series_of(const OutlivingSite& site) {
  std::map<Position, Series> by_position;
  for (const Living& living : site.living) by_position[living.position].push_back(&living);
  std::vector<Series> result;
  for (auto& [position, series] : by_position) result.push_back(std::move(series));
  return result;
}

GrowingSites growing_sites(const TraceData& data) {
  const KnownRounds known = {std::make_shared<const Rounds>(Rounds::steps(data)),
                             std::make_shared<const Rounds>(Rounds::backwards(data))};
  std::vector<Sequence> turns = turns_of(known);
  GrowingSites result{{}, end_of_work(data, turns)};
  const Places places(data, result.end, std::move(turns));
  const auto add = [&](StackId stack, const Born& born, std::vector<Born> chains, bool replaces) {
    OutlivingSite& site = result.sites[stack];
    Born kept;
    for (const Born& chain : chains) kept.push_back(chain.back());
    site.rounds = rounds_of(replaces ? born : kept, known);
    for (Born& chain : chains) {
      const Storage* each = chain.back();
      chain.pop_back();
      const std::size_t round = site.rounds->at(each->span.from_seq);
      const Sequence begin = round > 0 ? site.rounds->end(round - 1) : Sequence();
      const Bytes bytes = bytes_at(data, *each, result.end);
      site.living.push_back({each, bytes, round, begin, site.rounds->end(round), {}, std::move(chain)});
    }
    leave_out_unfinished(site.living);
    number(site.living);
  };
  for (const auto& [stack, born] : places.born()) {
    std::vector<Born> chains;
    for (const Storage* each : places.growing(born)) chains.push_back({each});
    const bool replaces = chains.empty();
    if (replaces) chains = places.replacing(born);
    if (!chains.empty()) add(stack, born, std::move(chains), replaces);
  }
  for (const auto& [line, born] : of_shared_lines(data, places.born())) {
    const auto judged = [&](const Storage* each) { return result.sites.contains(each->birth.stack); };
    if (std::ranges::any_of(born, judged)) continue;
    std::vector<Born> chains = places.replacing(born);
    if (chains.empty()) continue;
    const StackId stack = chains.front().back()->birth.stack;
    add(stack, born, std::move(chains), true);
  }
  return result;
}

}  // namespace dcmt::analyzer
