#include "analyzer/references/reference_pairs.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "analyzer/references/change_stacks.h"
#include "analyzer/references/statement_names.h"
#include "analyzer/storages/stacks.h"

namespace dcmt::analyzer {
namespace {

/// What is printed of a change that took a reference: references that were taken alike are not told apart.
using Kind = std::tuple<FrameId, std::string_view, bool>;
constexpr std::string_view kBefore = "(before)";

bool shares_a_name(const std::set<std::string_view>& some, const std::set<std::string_view>& others) {
  return std::ranges::any_of(some, [&](std::string_view name) { return others.contains(name); });
}

/// A change of a damaged trace must not make the list long.
constexpr std::int64_t kMostAtOnce = 1000;

class Pairing {
 public:
  Pairing(const TraceData& data, const WatchedCount& count)
      : data_(data),
        count_(count),
        changes_(data.watched.changes_of(count.id)),
        stacks_(data),
        statements_(data),
        has_native_(std::ranges::any_of(changes_, [](const CountChange& each) { return each.native.valid(); })) {}

  PairedCount run() {
    paired_.missing = count_.lost;
    open_unknown(count_.first);
    std::int64_t now = count_.first;
    for (std::size_t i = 0; i < changes_.size(); ++i) {
      missed(now, changes_[i].before);
      now = changes_[i].after;
      const std::int64_t step = std::clamp(now - changes_[i].before, -kMostAtOnce, kMostAtOnce);
      for (std::int64_t k = 0; k < step; ++k) take(i);
      for (std::int64_t k = 0; k > step; --k) give_back(i);
    }
    missed(now, count_.last);
    const std::size_t given_back = paired_.references.size();
    for (const auto& [way, taken] : open_) {
      for (const std::optional<std::size_t>& each : taken) paired_.references.push_back({each, std::nullopt, false});
    }
    std::sort(paired_.references.begin() + static_cast<std::ptrdiff_t>(given_back), paired_.references.end(),
              [](const PairedReference& a, const PairedReference& b) { return a.taken < b.taken; });
    if (paired_.missing == 0 && !count_.at_operators) find_certain();
    return std::move(paired_);
  }

 private:
  /// References that nothing tells apart but the order in which they were taken.
  struct Way {
    const ChangeStack* stack = nullptr;  ///< nullptr: taken before, or by a missing change
    ThreadId thread;
    HeldAs held_as = HeldAs::kElsewhere;
    friend auto operator<=>(const Way&, const Way&) = default;
  };

  void open_unknown(std::int64_t number) {
    for (std::int64_t i = 0; i < std::min(number, kMostAtOnce); ++i) open_[Way{}].emplace_back();
  }

  /// The count was `now` and is `before` at the next change.
  void missed(std::int64_t now, std::int64_t before) {
    if (now == before) return;
    const std::int64_t difference = before - now;
    gaps_ += std::abs(difference);
    paired_.missing = std::max(paired_.missing, gaps_);
    if (difference > 0) open_unknown(difference);
    if (difference < 0) paired_.missing_drops -= difference;
  }

  void take(std::size_t index) {
    const CountChange& change = changes_[index];
    const ChangeStack& stack = stacks_.of(change);
    HeldAs held_as = held_as_taken(count_.subject, change, stack);
    // The object of a tensor that others refer to, too, is taken by its maker and then by the tensor.
    if (held_as == HeldAs::kResult && count_.subject == Subject::kObject && change.before == 1 && index > 0 &&
        changes_[index - 1].before == 0 && &stacks_.of(changes_[index - 1]) == &stack) {
      held_as = HeldAs::kOtherHalf;
    }
    open_[Way{&stack, change.by.thread, held_as}].emplace_back(index);
  }

  void give_back(std::size_t index) {
    auto best = open_.end();
    std::tuple<int, std::size_t, std::int64_t> least;
    for (auto way = open_.begin(); way != open_.end(); ++way) {
      const std::int64_t latest = way->second.back() ? static_cast<std::int64_t>(*way->second.back()) : -1;
      const auto [unlikely, apart] = distance(way->first, changes_[index]);
      const std::tuple cost(unlikely, apart, -latest);
      if (best != open_.end() && cost >= least) continue;
      best = way;
      least = cost;
    }
    if (best == open_.end()) {  // only where changes are missing
      paired_.references.push_back({std::nullopt, index, false});
      return;
    }
    paired_.references.push_back({best->second.back(), index, false});
    best->second.pop_back();
    if (best->second.empty()) open_.erase(best);
  }

  /// How unlikely it is that the change gave back a reference that was taken so, and how far both are apart.
  std::pair<int, std::size_t> distance(const Way& way, const CountChange& change) {
    constexpr int kOtherThread = 2;
    constexpr int kUnknown = 2;
    if (way.stack == nullptr) return {kUnknown, std::numeric_limits<std::size_t>::max()};
    const ChangeStack& stack = stacks_.of(change);
    const int other = way.thread != change.by.thread ? kOtherThread : 0;
    const int unlikely = has_native_ ? unlikely_by_function(way, stack) : 0;
    return {unlikely + other, frames_between(*way.stack, stack)};
  }

  int unlikely_by_function(const Way& way, const ChangeStack& stack) {
    const HeldAs as = held_as_given_back(count_.subject, stack);
    if (as == HeldAs::kOtherHalf) {
      return way.held_as == HeldAs::kOtherHalf ? 0 : way.held_as == HeldAs::kResult ? 1 : 3;
    }
    if (way.held_as == HeldAs::kOtherHalf) return 4;
    // The first reference to a tensor goes to its Python object.
    if (count_.subject != Subject::kObject) return way.held_as == HeldAs::kResult ? 1 : 0;
    if (as == HeldAs::kVariable) return unlikely_at_return(way, stack);
    if (as == HeldAs::kValue) return unlikely_in_statement(way, stack);
    // From a container, an object of C++, or a variable of a module.
    if (way.held_as == HeldAs::kVariable) return 0;
    if (way.held_as == HeldAs::kElsewhere) return unlikely_in_dictionary(way, stack);
    return has_variable(way, way.stack->python.size()) ? 2 : 1;
  }

  /// The variables of a module are in a dictionary.
  int unlikely_in_dictionary(const Way& way, const ChangeStack& stack) {
    const std::set<std::string_view>& given_up = given_up_by(stack);
    const bool is_variable = is_of_module(way);
    if (given_up.empty() || !is_of_dictionary(stack)) return is_variable ? 1 : 0;
    return is_variable && is_same_function(way, stack) && shares_a_name(names_at(way, stack.python.size()), given_up)
               ? 0
               : 1;
  }

  /// A function ends, and its variables.
  int unlikely_at_return(const Way& way, const ChangeStack& stack) {
    if (!is_within(*way.stack, stack)) return 3;
    if (way.held_as == HeldAs::kElsewhere) return 2;
    const std::size_t level = stack.python.size();    // of the function
    if (way.stack->python.size() == level) return 0;  // an argument
    return has_variable(way, level + 1) ? 0 : 1;
  }

  /// The interpreter gives up a value: what a statement worked with, or that of a variable.
  int unlikely_in_statement(const Way& way, const ChangeStack& stack) {
    if (is_within(*way.stack, stack)) return way.held_as == HeldAs::kElsewhere ? 2 : 0;
    if (stack.python.empty()) return 1;
    if (!statements_.at(stack.python.back()).known) return way.held_as == HeldAs::kElsewhere ? 2 : 1;
    const std::set<std::string_view>& given_up = given_up_by(stack);
    if (given_up.empty()) {  // what a call has returned, as box.pop() does
      const bool is_variable =
          way.held_as == HeldAs::kElsewhere ? is_of_module(way) : has_variable(way, way.stack->python.size());
      return is_variable ? 2 : way.held_as == HeldAs::kElsewhere ? 0 : 1;
    }
    return is_same_function(way, stack) && shares_a_name(variables(way, stack.python.size()), given_up) ? 0 : 2;
  }

  /// True if the reference is that of a variable of a module.
  bool is_of_module(const Way& way) {
    return is_of_dictionary(*way.stack) && !names_at(way, way.stack->python.size()).empty();
  }

  /// The variables whose values the innermost statement gives up.
  const std::set<std::string_view>& given_up_by(const ChangeStack& stack) {
    static const std::set<std::string_view> kNone;
    return stack.python.empty() ? kNone : statements_.at(stack.python.back()).given_up;
  }
  /// All variables to which the statement at a level of the stack gives values.
  std::set<std::string_view> names_at(const Way& way, std::size_t level) {
    if (level == 0 || level > way.stack->python.size()) return {};
    const StatementNames& names = statements_.at(way.stack->python[level - 1]);
    std::set<std::string_view> all = names.made;
    all.insert(names.copied.begin(), names.copied.end());
    return all;
  }

  /// True if both are in one function, which was called from the same line.
  bool is_same_function(const Way& way, const ChangeStack& stack) const {
    const std::vector<FrameId>& taken = way.stack->python;
    const std::size_t level = stack.python.size();
    if (taken.size() < level ||
        !std::equal(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(level) - 1, stack.python.begin())) {
      return false;
    }
    const Frame* one = data_.frames.find(taken[level - 1]);
    const Frame* other = data_.frames.find(stack.python[level - 1]);
    return one != nullptr && other != nullptr && one->file == other->file && one->function == other->function;
  }

  /// The variables that the statement at a level of the stack gave the reference to, perhaps.
  const std::set<std::string_view>& variables(const Way& way, std::size_t level) {
    static const std::set<std::string_view> kNone;
    if (level == 0 || level > way.stack->python.size()) return kNone;
    const StatementNames& names = statements_.at(way.stack->python[level - 1]);
    const bool is_of_statement = level == way.stack->python.size() && way.held_as == HeldAs::kValue;
    return is_of_statement ? names.copied : names.made;
  }
  bool has_variable(const Way& way, std::size_t level) { return !variables(way, level).empty(); }

  Kind kind_of(const std::optional<std::size_t>& taken) {
    if (!taken) return {FrameId(), kBefore, false};
    const CountChange& change = changes_[*taken];
    return {site_of(data_, change.by.stack), stacks_.of(change).function(), change.before == 0};
  }

  /// The end of the call from the interpreter to C++ whose changes begin with this one.
  std::size_t end_of_call(std::size_t from) {
    const auto is_same = [&](const CountChange& a, const CountChange& b) {
      return a.by.thread == b.by.thread && a.by.stack == b.by.stack && !stacks_.of(b).native.empty() &&
             !stacks_.of(b).cut && stacks_.of(a).native.front() == stacks_.of(b).native.front();
    };
    std::size_t to = from + 1;
    if (stacks_.of(changes_[from]).native.empty() || stacks_.of(changes_[from]).cut) return to;
    while (to < changes_.size() && is_same(changes_[from], changes_[to])) ++to;
    return to;
  }

  /// Whether a call left as many references as it found, and it is known which of its own it gave back.
  bool leaves_nothing(std::size_t from, std::size_t to) {
    if (changes_[from].before != changes_[to - 1].after) return false;
    std::set<Kind> taken, given_back;
    for (std::size_t i = from; i < to; ++i) {
      const bool is_take = changes_[i].after > changes_[i].before;
      (is_take ? taken : given_back).insert(kind_of(i));
      // What it returns it has not given back.
      if (is_take && held_as_taken(count_.subject, changes_[i], stacks_.of(changes_[i])) == HeldAs::kResult)
        return false;
    }
    return taken.size() == 1 || given_back.size() == 1;
  }

  void find_certain() {
    std::map<std::size_t, PairedReference*> by_drop;
    std::vector<PairedReference*> left;
    for (PairedReference& each : paired_.references) {
      if (each.given_back) {
        by_drop[*each.given_back] = &each;
      } else {
        left.push_back(&each);
      }
    }
    // References that may be there, by how they were taken; of them, `uncertain` are not there.
    std::map<Kind, std::int64_t> possible;
    std::int64_t uncertain = 0;
    const auto remove = [&](const Kind& kind) {
      if (--possible[kind] <= 0) possible.erase(kind);
    };
    if (count_.first > 0) possible[kind_of(std::nullopt)] = count_.first;
    for (std::size_t from = 0, to = 0; from < changes_.size(); from = to) {
      to = end_of_call(from);
      const bool balanced = to - from > 1 && leaves_nothing(from, to);
      for (std::size_t i = from; i < to; ++i) {
        if (changes_[i].after > changes_[i].before) {
          ++possible[kind_of(i)];
          continue;
        }
        PairedReference& pair = *by_drop[i];
        const bool own = balanced && pair.taken && *pair.taken >= from;
        if (own || (possible.size() == 1 && possible.begin()->first == kind_of(pair.taken))) {
          pair.certain = true;
          remove(kind_of(pair.taken));
        } else {
          ++uncertain;
        }
        if (changes_[i].after == 0) {
          possible.clear();
          uncertain = 0;
        }
      }
    }
    for (PairedReference* each : left) each->certain = uncertain == 0 || possible.size() == 1;
  }

  const TraceData& data_;
  const WatchedCount& count_;
  std::span<const CountChange> changes_;
  ChangeStacks stacks_;
  StatementReader statements_;
  const bool has_native_;
  std::map<Way, std::vector<std::optional<std::size_t>>> open_;
  std::int64_t gaps_ = 0;
  PairedCount paired_;
};

}  // namespace

PairedCount pair_references(const TraceData& data, const WatchedCount& count) { return Pairing(data, count).run(); }

}  // namespace dcmt::analyzer
