#include "analyzer/compare/difference.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/compare/line_changes.h"
#include "analyzer/compare/trainers.h"

namespace dcmt::analyzer {
namespace {

const DeviceFacts* device_of_kind(const MemoryFacts& facts, const std::string& kind) {
  const auto found =
      std::ranges::find_if(facts.devices, [&](const DeviceFacts& device) { return kind_of(device.device) == kind; });
  return found != facts.devices.end() ? &*found : nullptr;
}

std::vector<LineDifference> lines_of(const std::vector<AllocationLine>& before,
                                     const std::vector<AllocationLine>& after, std::int64_t change) {
  constexpr std::size_t kMost = 8;
  std::vector<LineDifference> lines;
  for (const auto& [each, share] : shares_of(line_changes(composition_of(before), after), change)) {
    if (lines.size() == kMost) break;
    LineDifference line;
    line.file = each.line.file;
    line.line = each.line.line;
    line.function = each.line.function;
    line.caller = each.line.caller;
    line.holder = each.line.holder;
    line.before = each.before;
    line.change = each.change;
    line.share = share;
    lines.push_back(std::move(line));
  }
  return lines;
}

/// Empty if only what no module allocated is known.
std::vector<ModuleDifference> modules_of(const PeakFact& before, const PeakFact& after) {
  std::map<std::string, ModuleDifference> by_name;
  for (const auto& [name, bytes] : before.modules) by_name[name].before = bytes;
  for (const auto& [name, bytes] : after.modules) by_name[name].after = bytes;
  std::vector<ModuleDifference> modules;
  if (by_name.empty() || by_name.rbegin()->first.empty()) return modules;
  for (auto& [name, each] : by_name) {
    each.module = name;
    if (each.change() != 0) modules.push_back(std::move(each));
  }
  std::ranges::stable_sort(modules, std::greater(), [](const auto& each) { return std::abs(each.change()); });
  return modules;
}

class Numbers {
 public:
  explicit Numbers(Difference& difference, std::string_view unit = NumberDifference::kBytes)
      : difference_(difference), unit_(unit) {}

  void add(const std::string& name, std::optional<std::int64_t> before, std::optional<std::int64_t> after,
           const std::vector<AllocationLine>& lines_before = {}, const std::vector<AllocationLine>& lines_after = {},
           std::vector<ModuleDifference> modules = {}) {
    if (before == after) {
      difference_.equal += before ? 1 : 0;
      return;
    }
    NumberDifference number{name, before, after, {}, unit_, std::move(modules)};
    if (!lines_before.empty() || !lines_after.empty()) {
      number.lines = lines_of(lines_before, lines_after, number.change());
    }
    difference_.numbers.push_back(std::move(number));
  }

 private:
  Difference& difference_;
  std::string_view unit_;
};

std::optional<std::int64_t> value_of(const std::optional<Bytes>& bytes) {
  return bytes ? std::optional(bytes->value) : std::nullopt;
}

/// Compares peaks by name. A peak may be missing in one of the runs.
void compare_peaks(const std::vector<PeakFact>& before, const std::vector<PeakFact>& after, Numbers& numbers) {
  static const PeakFact kNone;
  const auto named = [](const std::vector<PeakFact>& peaks, const std::string& name) {
    const auto found = std::ranges::find(peaks, name, &PeakFact::name);
    return found != peaks.end() ? &*found : nullptr;
  };
  const auto bytes = [](const PeakFact* peak) {
    return peak != nullptr ? std::optional(peak->bytes.value) : std::nullopt;
  };
  const auto add = [&](const PeakFact* was, const PeakFact* is, const std::string& name) {
    const PeakFact& one = was != nullptr ? *was : kNone;
    const PeakFact& other = is != nullptr ? *is : kNone;
    numbers.add("peak." + name, bytes(was), bytes(is), one.lines, other.lines, modules_of(one, other));
  };
  for (const PeakFact& was : before) add(&was, named(after, was.name), was.name);
  for (const PeakFact& is : after) {
    if (named(before, is.name) == nullptr) add(nullptr, &is, is.name);
  }
}

/// Compares the graphs at a peak that both runs have: the one that differs most, then the highest one.
GraphDifference graphs_at_peak(const std::vector<PeakFact>& before, const std::vector<PeakFact>& after) {
  GraphDifference difference;
  std::tuple<std::int64_t, std::int64_t> most;
  for (const PeakFact& is : after) {
    const auto was = std::ranges::find(before, is.name, &PeakFact::name);
    if (was == before.end()) continue;
    const std::tuple size(std::abs(is.bytes.value - was->bytes.value), is.bytes.value);
    if (!difference.peak.empty() && size <= most) continue;
    most = size;
    difference = graph_difference(was->graph, is.graph);
    difference.peak = "peak." + is.name;
  }
  return difference;
}

/// `after`: the first device of the later run. `before`: the device of that kind in the earlier run, or nullptr.
void compare_main(const DeviceFacts* before, const DeviceFacts& after, Difference& difference) {
  static const DeviceFacts kNone;
  const DeviceFacts& was = before != nullptr ? *before : kNone;
  Numbers numbers(difference);
  compare_peaks(was.peaks, after.peaks, numbers);
  std::ranges::stable_sort(difference.numbers, [](const NumberDifference& a, const NumberDifference& b) {
    return std::tuple(std::abs(a.change()), a.after.value_or(0)) >
           std::tuple(std::abs(b.change()), b.after.value_or(0));
  });
  numbers.add("peak", before != nullptr ? std::optional(before->peak.value) : std::nullopt, after.peak.value);
  numbers.add("reserved", value_of(was.reserved), value_of(after.reserved));
  numbers.add("growth.step", value_of(was.growth), value_of(after.growth), was.grown, after.grown);
  difference.lives = histograms_of(was.lives, after.lives, std::min(difference.steps_before, difference.steps_after));
  difference.graph = graphs_at_peak(was.peaks, after.peaks);
  for (std::size_t i = 0; i < std::min(was.step_peaks.size(), after.step_peaks.size()); ++i) {
    if (was.step_peaks[i] == after.step_peaks[i]) continue;
    difference.steps.push_back({static_cast<std::int64_t>(i), was.step_peaks[i], after.step_peaks[i]});
  }
}

void compare_devices(const MemoryFacts& before, const MemoryFacts& after, Difference& difference) {
  const DeviceFacts* main = after.devices.empty() ? nullptr : &after.devices.front();
  const DeviceFacts* was = nullptr;
  if (main != nullptr) {
    difference.device = kind_of(main->device);
    was = device_of_kind(before, difference.device);
    compare_main(was, *main, difference);
  }
  Numbers numbers(difference);
  compare_peaks(peaks_beside(before, was), peaks_beside(after, main), numbers);
}

OrderDifference order_of(const MemoryFacts& before, const MemoryFacts& after) {
  OrderDifference order;
  order.before = static_cast<std::int64_t>(before.operators.size());
  order.after = static_cast<std::int64_t>(after.operators.size());
  const std::size_t common = std::min(before.operators.size(), after.operators.size());
  std::size_t at = 0;
  while (at < common && before.operators[at].name == after.operators[at].name) ++at;
  if (at < common || order.before != order.after) {
    order.first = static_cast<std::int64_t>(at) + 1;
    if (at < before.operators.size()) order.first_before = before.operators[at].name;
    if (at < after.operators.size()) order.first_after = after.operators[at].name;
    return order;
  }
  for (at = 0; at < common; ++at) {
    const std::int64_t change = after.operators[at].bytes.value - before.operators[at].bytes.value;
    if (change == 0) continue;
    order.lifetimes = static_cast<std::int64_t>(at) + 1;
    order.lifetimes_at = after.operators[at].name;
    order.lifetimes_change = change;
    break;
  }
  return order;
}

FindingChange of_finding(ChangeKind became, const FindingFact& finding, Bytes before, Bytes after) {
  return {became, finding.title, finding.holder, finding.file, finding.line, before, after};
}

std::vector<FindingChange> compare_findings(const std::vector<FindingFact>& before,
                                            const std::vector<FindingFact>& after) {
  std::vector<FindingChange> differences;
  std::vector<bool> still(before.size());
  for (const FindingFact& now : after) {
    std::size_t was = 0;
    while (was < before.size() && (still[was] || !same_finding(before[was].identity, now.identity))) ++was;
    if (was == before.size()) {
      differences.push_back(of_finding(ChangeKind::kCame, now, Bytes(), now.bytes));
      continue;
    }
    still[was] = true;
    if (now.bytes == before[was].bytes) continue;
    differences.push_back(of_finding(became(before[was].bytes, now.bytes), now, before[was].bytes, now.bytes));
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!still[i]) differences.push_back(of_finding(ChangeKind::kWent, before[i], before[i].bytes, Bytes()));
  }
  return differences;
}

const MemoryFacts* of_rank(const LabelledRun& run, std::int64_t rank) {
  const auto found = std::ranges::find(run.ranks, rank, &MemoryFacts::rank);
  return found != run.ranks.end() ? &*found : nullptr;
}

/// Adds the ranks of a run that the other one lacks.
void add_lone_ranks(const LabelledRun& run, const LabelledRun& other, std::vector<LoneRanks>& lone) {
  LoneRanks ranks{run.label, other.label, {}};
  for (const MemoryFacts& each : run.ranks) {
    if (of_rank(other, each.rank) == nullptr) ranks.ranks.push_back(each.rank);
  }
  if (!ranks.ranks.empty()) lone.push_back(std::move(ranks));
}

std::vector<RunRow> rows_of(const LabelledRun& run) {
  std::map<std::string, RunRow> rows;
  for (const MemoryFacts& rank : run.ranks) {
    for (const DeviceFacts& device : rank.devices) {
      const auto [at, fresh] = rows.try_emplace(kind_of(device.device));
      RunRow& row = at->second;
      if (!fresh && device.peak <= row.peak) continue;
      row = {run.label,       kind_of(device.device), rank.rank, rank.steps, device.peak,
             device.reserved, rank.step_time,         0,         {},         {}};
      const auto highest = std::ranges::max_element(device.peaks, {}, &PeakFact::bytes);
      if (highest == device.peaks.end()) continue;
      row.peak_part = highest->name;
      row.peak_step = highest->step;
    }
  }
  std::vector<RunRow> result;
  for (auto& [kind, row] : rows) result.push_back(std::move(row));
  return result;
}

}  // namespace

Difference difference_of(const MemoryFacts& before, const MemoryFacts& after) {
  Difference difference;
  difference.rank = after.rank;
  difference.order = order_of(before, after);
  difference.steps_before = before.steps;
  difference.steps_after = after.steps;
  compare_devices(before, after, difference);
  Numbers numbers(difference);
  numbers.add("residual.bytes", before.residual.value, after.residual.value);
  std::map<std::string, std::int64_t> names = before.counts;
  names.insert(after.counts.begin(), after.counts.end());
  const auto count_in = [](const MemoryFacts& facts, const std::string& name) {
    const auto found = facts.counts.find(name);
    return found != facts.counts.end() ? found->second : 0;
  };
  Numbers counts(difference, NumberDifference::kCount);
  for (const auto& [name, ignored] : names) counts.add(name, count_in(before, name), count_in(after, name));
  difference.findings = compare_findings(before.findings, after.findings);
  return difference;
}

RunsDifference differences_of(std::vector<LabelledRun> runs) {
  RunsDifference result;
  for (LabelledRun& run : runs) {
    Trainers trainers = trainers_of(std::move(run.ranks));
    run.ranks = std::move(trainers.ranks);
    std::ranges::move(trainers.left_out, std::back_inserter(result.left_out));
    for (RunRow& row : rows_of(run)) {
      const auto first = std::ranges::find(result.runs, row.device, &RunRow::device);
      if (first != result.runs.end()) row.change = row.peak.value - first->peak.value;
      result.runs.push_back(std::move(row));
    }
  }
  const LabelledRun& first = runs.front();
  for (std::size_t i = 1; i < runs.size(); ++i) {
    for (const MemoryFacts& after : runs[i].ranks) {
      const MemoryFacts* before = of_rank(first, after.rank);
      if (before == nullptr) continue;
      Difference& difference = result.differences.emplace_back(difference_of(*before, after));
      difference.before = first.label;
      difference.after = runs[i].label;
    }
    add_lone_ranks(first, runs[i], result.lone_ranks);
    add_lone_ranks(runs[i], first, result.lone_ranks);
  }
  return result;
}

}  // namespace dcmt::analyzer
