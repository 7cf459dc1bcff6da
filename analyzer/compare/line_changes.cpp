#include "analyzer/compare/line_changes.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "trace/base/followed_bytes.h"

namespace dcmt::analyzer {
namespace {

constexpr char kRest[] = "rest";
constexpr std::int64_t kSmallestShare = 400;
constexpr std::size_t kMostLines = 32;

using Numbers = std::vector<std::int64_t>;
using LinesOfFunction = std::vector<const AllocationLine*>;

Numbers bytes_of(const LinesOfFunction& lines) {
  Numbers bytes;
  for (const AllocationLine* line : lines) bytes.push_back(line->bytes.value);
  return bytes;
}

/// Pairs of positions with equal numbers, as many as can be in order.
std::vector<std::pair<std::size_t, std::size_t>> in_common(const Numbers& a, const Numbers& b) {
  // Functions have few lines that allocate.
  constexpr std::size_t kMost = 2000;
  if (a.size() > kMost || b.size() > kMost) return {};
  std::vector<std::vector<std::uint16_t>> longest(a.size() + 1, std::vector<std::uint16_t>(b.size() + 1));
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      longest[i][j] = a[i] == b[j] ? static_cast<std::uint16_t>(longest[i + 1][j + 1] + 1)
                                   : std::max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) {
      pairs.emplace_back(i++, j++);
    } else if (longest[i + 1][j] >= longest[i][j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return pairs;
}

class Changes {
 public:
  void match(const std::string& function, const Numbers& before, const LinesOfFunction& now) {
    std::vector<std::pair<std::size_t, std::size_t>> equal = in_common(before, bytes_of(now));
    equal.emplace_back(before.size(), now.size());
    std::size_t i = 0;
    std::size_t j = 0;
    for (const auto& [to_before, to_now] : equal) {
      // Between two lines that are equal, as many as there are of both are the same ones, changed.
      for (; i < to_before || j < to_now; ++i, ++j) {
        const bool was = i < to_before;
        const bool is = j < to_now;
        add(function, was ? before[i] : 0, is ? now[j] : nullptr);
        if (!was) --i;
        if (!is) --j;
      }
      i = to_before + 1;
      j = to_now + 1;
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
  [[nodiscard]] std::vector<LineChange> take() {
    std::ranges::stable_sort(changes_, std::greater(), &LineChange::change);
    return std::move(changes_);
  }

 private:
  std::vector<LineChange> changes_;
};

/// "step" of "train.py step".
std::string_view name_in(std::string_view function) { return function.substr(function.rfind(' ') + 1); }

/// How well a function that is gone and one that is new go together, from 0: one name in another file, one file, and
/// the share of the bytes in lines that are equal.
double likeness(const std::string& gone, const Numbers& before, const std::string& fresh, const Numbers& now) {
  double alike = 0;
  double before_bytes = 0;
  double now_bytes = 0;
  for (const auto& [i, j] : in_common(before, now)) alike += static_cast<double>(before[i]);
  for (const std::int64_t each : before) before_bytes += static_cast<double>(each);
  for (const std::int64_t each : now) now_bytes += static_cast<double>(each);
  const double share = alike / std::max({1.0, before_bytes, now_bytes});
  if (name_in(gone) == name_in(fresh)) return share + 2;
  if (share == 0) return 0;
  return share + (gone.substr(0, gone.find(' ')) == fresh.substr(0, fresh.find(' ')) ? 1 : 0);
}

/// From how many bytes on a shortened composition names a line.
std::int64_t least_named(const Composition& composition) {
  std::int64_t all = 0;
  Numbers named;
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
  Numbers sizes;
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
  Composition gone = before;
  std::map<std::string, LinesOfFunction> fresh;
  for (const auto& [function, lines] : functions) {
    const auto same = gone.find(function);
    if (same == gone.end()) {
      fresh[function] = lines;
      continue;
    }
    changes.match(function, same->second, lines);
    gone.erase(same);
  }
  if (shortened) {
    changes.add(kRest, gone[kRest].front(), &rest);
    gone.erase(kRest);
  }
  // Renamed functions: the pair that goes together best first.
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
    changes.match(pair.fresh, was->second, is->second);
    gone.erase(was);
    fresh.erase(is);
  }
  for (const auto& [function, lines] : fresh) changes.match(function, {}, lines);
  for (const auto& [function, bytes] : gone) {
    for (const std::int64_t each : bytes) changes.add(function, each, nullptr);
  }
  return changes.take();
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
