#include "analyzer/compare/line_changes.h"

#include <algorithm>
#include <compare>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <utility>

#include "trace/base/followed_bytes.h"

namespace dcmt::analyzer {
namespace {

constexpr char kRest[] = "rest";
constexpr std::int64_t kSmallestShare = 400;
constexpr std::size_t kMostLines = 32;

using Sizes = std::vector<std::int64_t>;
using LinesOfFunction = std::vector<const AllocationLine*>;

Sizes bytes_of(const LinesOfFunction& lines) {
  Sizes bytes;
  for (const AllocationLine* line : lines) bytes.push_back(line->bytes.value);
  return bytes;
}

/// The cost of turning one sequence of numbers into another: the changed bytes; of equal ones, the changes relative to
/// the numbers.
struct Cost {
  std::int64_t bytes = 0;
  double relative = 0;

  [[nodiscard]] Cost plus(std::int64_t before, std::int64_t now) const {
    const std::int64_t by = std::abs(now - before);
    return {bytes + by,
            relative + static_cast<double>(by) / static_cast<double>(std::max<std::int64_t>({1, before, now}))};
  }
  auto operator<=>(const Cost&) const = default;
};

/// Pairs of positions that stand for the same line, in order, with the least cost.
std::vector<std::pair<std::size_t, std::size_t>> aligned(const Sizes& a, const Sizes& b) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  // Functions have few lines that allocate.
  constexpr std::size_t kMost = 1000;
  if (a.size() > kMost || b.size() > kMost) {
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) pairs.emplace_back(i, i);
    return pairs;
  }
  std::vector<std::vector<Cost>> least(a.size() + 1, std::vector<Cost>(b.size() + 1));
  for (std::size_t i = a.size() + 1; i-- > 0;) {
    for (std::size_t j = b.size() + 1; j-- > 0;) {
      const bool was = i < a.size();
      const bool is = j < b.size();
      if (was && is) {
        least[i][j] = std::min(
            {least[i + 1][j + 1].plus(a[i], b[j]), least[i + 1][j].plus(a[i], 0), least[i][j + 1].plus(0, b[j])});
      } else if (was || is) {
        least[i][j] = was ? least[i + 1][j].plus(a[i], 0) : least[i][j + 1].plus(0, b[j]);
      }
    }
  }
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (least[i][j] == least[i + 1][j + 1].plus(a[i], b[j])) {
      pairs.emplace_back(i++, j++);
    } else if (least[i][j] == least[i + 1][j].plus(a[i], 0)) {
      ++i;
    } else {
      ++j;
    }
  }
  return pairs;
}

/// A function in both compositions; one of the two may be empty.
struct Function {
  std::string name;
  Sizes before;
  LinesOfFunction now;
};

/// The numbers that `of` has more often than `in`.
Sizes surplus(Sizes of, Sizes in) {
  std::ranges::sort(of);
  std::ranges::sort(in);
  Sizes more;
  std::ranges::set_difference(of, in, std::back_inserter(more));
  return more;
}

void remove_last(Sizes& numbers, std::int64_t number) {
  numbers.erase(std::next(std::find(numbers.rbegin(), numbers.rend(), number)).base());
}

void remove_last(LinesOfFunction& lines, std::int64_t bytes) {
  const auto at =
      std::find_if(lines.rbegin(), lines.rend(), [&](const auto* line) { return line->bytes.value == bytes; });
  lines.erase(std::next(at).base());
}

/// Removes lines that a new function got from another one, or that a deleted one left to another: they are no change.
void remove_moved(std::vector<Function>& functions) {
  for (Function& to : functions) {
    for (Function& from : functions) {
      if (&to == &from || (!to.before.empty() && !from.now.empty())) continue;
      Sizes more = surplus(bytes_of(to.now), to.before);
      Sizes less = surplus(from.before, bytes_of(from.now));
      Sizes moved;
      std::ranges::set_intersection(more, less, std::back_inserter(moved));
      for (const std::int64_t each : moved) {
        remove_last(from.before, each);
        remove_last(to.now, each);
      }
    }
  }
}

class Changes {
 public:
  void match(const Function& function) {
    const Sizes& before = function.before;
    const LinesOfFunction& now = function.now;
    std::vector<std::pair<std::size_t, std::size_t>> same = aligned(before, bytes_of(now));
    same.emplace_back(before.size(), now.size());
    std::size_t i = 0;
    std::size_t j = 0;
    for (const auto& [to_before, to_now] : same) {
      for (; i < to_before; ++i) add(function.name, before[i], nullptr);
      for (; j < to_now; ++j) add_new(now, j);
      if (i < before.size() && j < now.size()) add(function.name, before[i++], now[j++]);
    }
  }
  void add(const std::string& function, std::int64_t before, const AllocationLine* now) {
    LineChange change;
    if (now != nullptr) {
      change.line = *now;
    } else {
      change.line.function = function;
    }
    change.before = Bytes(before);
    change.change = change.line.bytes.value - before;
    if (change.change != 0) changes_.push_back(std::move(change));
  }
  [[nodiscard]] std::vector<LineChange> extract() {
    std::ranges::stable_sort(changes_, std::greater(), &LineChange::change);
    return std::move(changes_);
  }

 private:
  /// The bytes do not show which of several equal neighbours is the new one.
  void add_new(const LinesOfFunction& lines, std::size_t at) {
    const std::size_t had = changes_.size();
    add("", 0, lines[at]);
    if (changes_.size() == had) return;
    const auto alike = [&](std::size_t other) { return lines[other]->bytes == lines[at]->bytes; };
    for (std::size_t i = at; i > 0 && alike(i - 1); --i) changes_.back().or_lines.push_back(*lines[i - 1]);
    for (std::size_t i = at + 1; i < lines.size() && alike(i); ++i) changes_.back().or_lines.push_back(*lines[i]);
  }

  std::vector<LineChange> changes_;
};

/// "step" of "train.py step".
std::string_view name_in(std::string_view function) { return function.substr(function.rfind(' ') + 1); }

/// Similarity of a function that is gone and one that is new, from 0: the same name in another file, the same file, and
/// the share of the bytes in equal lines.
double likeness(const std::string& gone, const Sizes& before, const std::string& fresh, const Sizes& now) {
  double alike = 0;
  double before_bytes = 0;
  double now_bytes = 0;
  for (const auto& [i, j] : aligned(before, now)) alike += before[i] == now[j] ? static_cast<double>(before[i]) : 0;
  for (const std::int64_t each : before) before_bytes += static_cast<double>(each);
  for (const std::int64_t each : now) now_bytes += static_cast<double>(each);
  const double share = alike / std::max({1.0, before_bytes, now_bytes});
  if (name_in(gone) == name_in(fresh)) return share + 2;
  if (share == 0) return 0;
  return share + (gone.substr(0, gone.find(' ')) == fresh.substr(0, fresh.find(' ')) ? 1 : 0);
}

/// The least bytes of a line that a shortened composition names.
std::int64_t least_named(const Composition& composition) {
  std::int64_t all = 0;
  Sizes named;
  for (const auto& [function, bytes] : composition) {
    for (const std::int64_t each : bytes) all += each;
    if (function != kRest) named.insert(named.end(), bytes.begin(), bytes.end());
  }
  const bool full = named.size() >= kMostLines;
  return std::max(all / kSmallestShare, full ? *std::ranges::min_element(named) : 1);
}

}  // namespace

Composition composition_of(const std::vector<AllocationLine>& lines) {
  Composition composition;
  for (const AllocationLine& line : lines) composition[line.function].push_back(line.bytes.value);
  return composition;
}

Composition short_composition_of(const std::vector<AllocationLine>& lines) {
  std::int64_t all = 0;
  Sizes sizes;
  for (const AllocationLine& line : lines) {
    all += line.bytes.value;
    sizes.push_back(line.bytes.value);
  }
  std::ranges::sort(sizes, std::greater());
  const std::int64_t least = std::max(all / kSmallestShare, sizes.size() > kMostLines ? sizes[kMostLines] + 1 : 1);
  Composition composition;
  std::int64_t rest = 0;
  for (const AllocationLine& line : lines) {
    if (line.bytes.value >= least && line.function != kSmallBlocks) {
      composition[line.function].push_back(line.bytes.value);
    } else {
      rest += line.bytes.value;
    }
  }
  if (rest > 0) composition[kRest].push_back(rest);
  return composition;
}

std::vector<LineChange> line_changes(const Composition& before, const std::vector<AllocationLine>& now) {
  const bool shortened = before.contains(kRest);
  const std::int64_t least = shortened ? least_named(before) : 0;
  std::map<std::string, LinesOfFunction> functions;
  AllocationLine rest;
  rest.function = kRest;
  for (const AllocationLine& line : now) {
    const bool small = line.bytes.value < least || line.function == kSmallBlocks || line.function == kRest;
    if (shortened && small) {
      rest.bytes.value += line.bytes.value;
    } else {
      functions[line.function].push_back(&line);
    }
  }
  Changes changes;
  std::vector<Function> matched;
  Composition gone = before;
  std::map<std::string, LinesOfFunction> fresh;
  for (const auto& [function, lines] : functions) {
    const auto same = gone.find(function);
    if (same == gone.end()) {
      fresh[function] = lines;
      continue;
    }
    matched.push_back({function, same->second, lines});
    gone.erase(same);
  }
  if (shortened) {
    changes.add(kRest, gone[kRest].front(), &rest);
    gone.erase(kRest);
  }
  // Renamed functions: the most similar pair first.
  struct Pair {
    double likeness;
    std::string gone, fresh;
  };
  std::vector<Pair> pairs;
  for (const auto& [name, bytes] : gone) {
    for (const auto& [function, lines] : fresh) {
      if (const double alike = likeness(name, bytes, function, bytes_of(lines)); alike > 0) {
        pairs.push_back({alike, name, function});
      }
    }
  }
  std::ranges::stable_sort(pairs, std::greater(), &Pair::likeness);
  for (const Pair& pair : pairs) {
    const auto was = gone.find(pair.gone);
    const auto is = fresh.find(pair.fresh);
    if (was == gone.end() || is == fresh.end()) continue;
    matched.push_back({pair.fresh, was->second, is->second});
    gone.erase(was);
    fresh.erase(is);
  }
  for (const auto& [function, lines] : fresh) matched.push_back({function, {}, lines});
  for (const auto& [function, bytes] : gone) matched.push_back({function, bytes, {}});
  remove_moved(matched);
  for (const Function& each : matched) changes.match(each);
  return changes.extract();
}

void settle_by_others(std::vector<std::vector<LineChange>>& facts) {
  using Place = std::pair<std::string, std::int64_t>;
  const auto place_of = [](const AllocationLine& line) { return Place(line.file, line.line); };
  std::map<Place, int> named;
  for (const std::vector<LineChange>& changes : facts) {
    for (const LineChange& each : changes) {
      if (each.change > 0 && each.or_lines.empty()) ++named[place_of(each.line)];
    }
  }
  for (std::vector<LineChange>& changes : facts) {
    for (LineChange& each : changes) {
      int most = named[place_of(each.line)];
      for (AllocationLine& other : each.or_lines) {
        if (named[place_of(other)] <= most) continue;
        most = named[place_of(other)];
        std::swap(each.line, other);
      }
    }
  }
}

std::vector<LineShare> shares_of(const std::vector<LineChange>& changes, std::int64_t change) {
  std::vector<LineShare> shares;
  std::int64_t all = 0;
  for (const LineChange& each : changes) {
    if ((each.change > 0) != (change > 0)) continue;
    all += each.change;
    shares.push_back({each, 0});
  }
  if (change < 0) std::ranges::reverse(shares);
  for (LineShare& each : shares) each.share = static_cast<double>(each.line.change) / static_cast<double>(all);
  return shares;
}

}  // namespace dcmt::analyzer
