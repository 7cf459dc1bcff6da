#include "analyzer/compare/memory_facts.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "analyzer/storages/block_module.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/storages/origins.h"
#include "analyzer/storages/without_numbers.h"
#include "trace/base/followed_bytes.h"
#include "trace/base/printable.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

/// "2.11" of "2.11.0+cpu".
std::string minor_version(const std::string& version) {
  const std::size_t first = version.find('.');
  if (first == std::string::npos) return version;
  return version.substr(0, version.find_first_of(".+", first + 1));
}

/// The arguments after the program's name, usually hyper-parameters.
std::string arguments_of(const RunFacts& facts) {
  const std::string& command = facts.command;
  std::size_t from = 0;
  const auto next = [&] {
    const std::size_t end = std::min(command.find(' ', from), command.size());
    const std::string_view word = std::string_view(command).substr(from, end - from);
    from = std::min(end + 1, command.size());
    return word;
  };
  next();  // the interpreter, or the program
  // Options of Python come before the script or the module.
  for (bool options = !facts.python.empty(); options && from < command.size();) {
    const std::string_view word = next();
    options = word.starts_with('-');
    if (word == "-W" || word == "-X") next();
    if (word == "-m" || word == "-c") options = false, next();
  }
  return printable(command.substr(from));
}

/// The range from the end of the first step to the end of the last one; zero if there is none.
struct Steady {
  Sequence from, to;
  std::int64_t steps = 0;  ///< steps that ended, including the first one
};

Steady steady_of(const std::vector<Step>& steps) {
  Steady steady;
  for (const Step& step : steps) {
    if (!step.to.valid()) continue;
    if (!steady.from.valid()) steady.from = step.to;
    steady.to = step.to;
    steady.steps += step.count;
  }
  return steady;
}

/// The parts of a run, each with its peak.
class Parts {
 public:
  struct Part {
    PeakFact fact;
    Sequence at;
  };

  Parts(const TraceData& data, const PhaseIndex& phases, const Steady& steady)
      : data_(data), phases_(phases), steady_(steady) {}

  void add(const CurvePoint& point) {
    Part& part = at(point.seq);
    if (part.at.valid() && point.bytes <= part.fact.bytes) return;
    part.at = point.seq;
    part.fact.bytes = point.bytes;
  }
  [[nodiscard]] std::vector<Part> extract() { return std::move(parts_); }

 private:
  Part& at(Sequence seq) {
    if (data_.has_sums_only()) return named("run");
    if (steady_.from.valid() && seq <= steady_.from) return named("first_step");
    if (steady_.to.valid() && seq > steady_.to) return named("after");
    const Mark* phase = phases_.at(seq);
    if (phase == nullptr) return named("other");
    const auto known = by_name_.find(phase->name);
    if (known != by_name_.end()) return parts_[known->second];
    // Phases with more different names are numbered or similar. Nobody would review them.
    constexpr std::size_t kMostPhases = 8;
    Part& part = named(by_name_.size() < kMostPhases ? without_numbers(data_.text(phase->name)) : "other");
    by_name_[phase->name] = static_cast<std::size_t>(&part - parts_.data());
    return part;
  }
  Part& named(std::string_view name) {
    const auto found =
        std::ranges::find(parts_, name, [](const Part& part) { return std::string_view(part.fact.name); });
    if (found != parts_.end()) return *found;
    parts_.emplace_back().fact.name = name;
    return parts_.back();
  }

  const TraceData& data_;
  const PhaseIndex& phases_;
  const Steady steady_;
  std::vector<Part> parts_;
  std::map<StringId, std::size_t> by_name_;
};

DeviceFacts device_facts(const Analysis& analysis, const DeviceAnalysis& device, const Steady& steady,
                         const AllocationLines& lines) {
  const TraceData& data = *analysis.data;
  DeviceFacts facts;
  facts.device = data.text(device.device);
  facts.peak = device.what_if.measured.bytes;
  facts.reserved = device_peaks_of(data, device.device).reserved;
  for (const StepPeak& step : device.steps) facts.step_peaks.push_back(step.peak);
  Parts parts(data, analysis.phases, steady);
  Bytes first_end, last_end;
  for_each_point(data, device.device, {}, [&](const CurvePoint& point) {
    parts.add(point);
    if (point.seq <= steady.from) first_end = point.bytes;
    if (point.seq <= steady.to) last_end = point.bytes;
  });
  for (Parts::Part& part : parts.extract()) {
    if (const Step* step = step_at(analysis.releases.steps, part.at)) part.fact.step = step->number;
    part.fact.at = part.at;
    part.fact.lines = lines.of(live_blocks(data, device.device, part.at));
    facts.peaks.push_back(std::move(part.fact));
  }
  // Two steps differ by what the second one allocated once; only growth continues.
  if (steady.steps < 3) return facts;
  facts.growth = Bytes((last_end.value - first_end.value) / (steady.steps - 1));
  std::vector<const Block*> grown = live_blocks(data, device.device, steady.to);
  std::erase_if(grown, [&](const Block* block) { return block->span.from_seq <= steady.from; });
  facts.grown = lines.of(grown);
  return facts;
}

FindingFact finding_fact(const TraceData& data, const Finding& finding, const AllocationLines& lines) {
  FindingFact fact;
  fact.identity = finding.identity;
  fact.number = finding.number;
  fact.rule = finding.rule;
  fact.title = finding.title;
  fact.device = data.text(finding.device);
  fact.bytes = finding.bytes;
  fact.alive_at_peak = finding.alive_at_peak;
  fact.peak_without = finding.predicted_peak;
  fact.fix = finding.fix;
  StackId made;
  if (finding.growth) {
    fact.holder = finding.growth->holder;
    if (finding.growth->rounds > 0) fact.per_step = finding.growth->per_round;
    if (!finding.growth->sites.empty()) made = finding.growth->sites.front().stack;
  } else if (finding.outside) {
    fact.holder = finding.outside->holder.value_or("");
    fact.per_step = finding.outside->per_step;
  } else if (finding.duplicate) {
    made = finding.duplicate->stack;
  } else if (finding.objects) {
    fact.holder = finding.objects->holder;
    if (finding.objects->unit == "step") fact.per_step = finding.objects->per_round;
  } else if (finding.forked) {
    fact.holder = finding.forked->holder;
  } else if (finding.native) {
    fact.holder = finding.native->place.function;
    if (finding.native->unit == "step") fact.per_step = finding.native->per_round;
  } else if (!finding.out_of_memory.empty()) {
    made = finding.out_of_memory.front().oom->by.stack;
  } else if (!finding.items.empty()) {
    const FindingItem& item = finding.items.front();
    if (const Mark* mark = item.release != nullptr ? item.release : item.gather) made = mark->by.stack;
  }
  if (finding.growth) {
    for (const GrowingSite& site : finding.growth->sites) {
      const AllocationLine place = lines.at(site.stack);
      fact.made.emplace_back(place.file, place.line);
    }
  }
  const AllocationLine place = lines.at(made);
  fact.file = place.file;
  fact.line = place.line;
  if (finding.holders && !finding.holders->paths.empty()) {
    const HolderPath& path = finding.holders->paths.front();
    fact.holder = path.function.value_or("");
    if (!path.names.empty()) fact.holder += ": " + std::string(path.names.front().name.value_or(""));
    // Generated code has a map to the line of the program.
    if (path.model_line) {
      fact.file = path.model_file.value_or("");
      fact.line = *path.model_line;
    }
  }
  return fact;
}

std::map<std::string, std::int64_t> counts_of(const Analysis& analysis, Bytes& residual) {
  const TraceData& data = *analysis.data;
  std::map<std::string, std::int64_t> counts;
  Origins origins(data);
  for (const Cycle& cycle : analysis.releases.cycles) {
    if (cycle.gather == nullptr || origins.is_trial(*cycle.gather)) continue;
    ++counts["gathers"];
    std::string origin = without_numbers(origins.of(*cycle.gather));
    std::ranges::replace(origin, ' ', '_');
    ++counts["gathers." + origin];
  }
  for (const ReleaseRow& row : analysis.releases.rows) {
    const MarkFlags& flags = row.mark->flags;
    if (row.verdict == Verdict::kNoGather || flags.mismatch) ++counts["releases.unmatched"];
    if (flags.persistent) {
      ++counts["releases.persistent"];
    } else if (flags.final) {
      ++counts["releases.final"];
    }
    if (row.residual) residual.value += row.bytes_left().value;
  }
  if (!data.has_sums_only()) return counts;
  // A long run does not have all rows, but its sums by parameter count everything.
  counts.clear();
  residual = Bytes();
  for (const KeySum& sum : data.key_sums) {
    if (sum.gathers > 0) counts["gathers"] += sum.gathers;
    if (sum.final > 0) counts["releases.final"] += sum.final;
    residual.value += sum.residual_bytes;
  }
  return counts;
}

/// The reasons why nothing can be concluded from a trace.
std::vector<std::string> unfit(const RunFacts& facts) {
  std::vector<std::string> why;
  if (facts.lost > 0) why.push_back(std::to_string(facts.lost) + " records were lost");
  if (facts.sequence_gaps.value_or(0) > 0)
    why.push_back(std::to_string(*facts.sequence_gaps) + " records are missing in its order");
  if (facts.state == "recording") why.emplace_back("it is still being recorded");
  if (facts.state == "recovered") why.emplace_back("its recorder died");
  if (facts.of_snapshot())
    why.emplace_back("it was made of a memory snapshot of torch, which does not say what came before its history");
  if (facts.exit.starts_with("signal ") ||
      (facts.exit.starts_with("exit ") && facts.exit != "exit 0" && facts.exit != "exit unseen"))
    why.push_back("its program failed (" + facts.exit + ")");
  return why;
}

std::optional<TimeNs> step_time_of(const std::vector<Step>& steps) {
  std::vector<std::int64_t> lasted;
  for (const Step& step : steps) {
    const bool first = &step == &steps.front();
    if (!first && step.to.valid() && step.count == 1) lasted.push_back(step.to_ns.value - step.from_ns.value);
  }
  if (lasted.empty()) return std::nullopt;
  const auto middle = lasted.begin() + static_cast<std::ptrdiff_t>(lasted.size() / 2);
  std::ranges::nth_element(lasted, middle);
  return TimeNs(*middle);
}

void add_sizes(const TraceData& data, const Steady& steady, MemoryFacts& facts) {
  constexpr std::size_t kMost = 6;
  if (!steady.from.valid()) return;
  std::set<std::int64_t> kept, made;
  for (const Block& block : data.blocks) {
    if (block.bytes.value < kFollowedBytes || !block.storage.valid()) continue;
    const bool before = block.span.from_seq <= steady.from;
    if (before && block.span.covers(steady.from) && block.span.covers(steady.to)) {
      kept.insert(block.bytes.value);
    } else if (!before && block.span.from_seq <= steady.to) {
      made.insert(block.bytes.value);
    }
  }
  for (const std::int64_t each : made) facts.made.emplace_back(each);
  // A block with the size of a weight is its gradient.
  for (auto at = made.rbegin(); at != made.rend() && facts.sizes.size() < kMost; ++at) {
    if (!kept.contains(*at)) facts.sizes.emplace_back(*at);
  }
}

std::vector<OperatorFact> operators_of(const Analysis& analysis) {
  const TraceData& data = *analysis.data;
  const Step* last = nullptr;
  for (const Step& step : analysis.releases.steps) {
    if (step.to.valid() && !step.sums.valid()) last = &step;
  }
  std::vector<const Operator*> found;
  for (const Operator& op : data.operators) {
    if (last == nullptr || (last->from < op.span.from_seq && op.span.from_seq <= last->to)) found.push_back(&op);
  }
  std::ranges::sort(found, {}, [](const Operator* op) { return op->span.from_seq; });
  std::vector<OperatorFact> facts;
  for (const Operator* op : found) facts.push_back({without_numbers(data.text(op->name)), {}});
  // Bytes when operators end. Ends have another order than begins, because operators are nested.
  std::vector<std::pair<Sequence, std::size_t>> ends;
  for (std::size_t i = 0; i < found.size(); ++i) ends.emplace_back(end_of(*found[i]), i);
  std::ranges::sort(ends);
  std::size_t next = 0;
  Bytes now;
  for_each_point(data, analysis.main().device, {}, [&](const CurvePoint& point) {
    for (; next < ends.size() && ends[next].first < point.seq; ++next) facts[ends[next].second].bytes = now;
    now = point.bytes;
  });
  for (; next < ends.size(); ++next) facts[ends[next].second].bytes = now;
  return facts;
}

}  // namespace

std::string kind_of(const std::string& device) { return device.substr(0, device.find(':')); }

MemoryFacts memory_facts(const std::string& path, const Analysis& analysis) {
  const TraceData& data = *analysis.data;
  const Steady steady = steady_of(analysis.releases.steps);
  const AllocationLines lines(data);
  MemoryFacts facts;
  facts.path = path;
  facts.rank = analysis.facts.rank;
  facts.torch = minor_version(analysis.facts.torch);
  facts.arguments = arguments_of(analysis.facts);
  facts.steps = steady.steps;
  facts.step_time = step_time_of(analysis.releases.steps);
  facts.world_size = std::max<std::int64_t>(1, analysis.facts.world_size);
  facts.unfit = unfit(analysis.facts);
  facts.counts = counts_of(analysis, facts.residual);
  add_sizes(data, steady, facts);
  facts.operators = operators_of(analysis);
  for (const DeviceAnalysis& device : analysis.devices) {
    if (device.device.valid()) facts.devices.push_back(device_facts(analysis, device, steady, lines));
  }
  for (const Finding& finding : analysis.findings) {
    if (!finding.trial) facts.findings.push_back(finding_fact(data, finding, lines));
  }
  return facts;
}

void add_lives_and_graphs(const Analysis& analysis, MemoryFacts& facts) {
  const TraceData& data = *analysis.data;
  const Graphs graphs(data);
  for (DeviceFacts& of : facts.devices) {
    const auto device = std::ranges::find_if(
        analysis.devices, [&](const DeviceAnalysis& each) { return data.text(each.device) == of.device; });
    if (device == analysis.devices.end()) continue;
    of.lives = lifetime_facts(analysis, device->device);
    for (PeakFact& peak : of.peaks) {
      peak.graph = graphs.at(device->device, peak.at);
      for (const Block* block : live_blocks(data, device->device, peak.at)) {
        peak.modules[std::string(module_of(data, *block))].value += block->bytes.value;
      }
    }
  }
}

std::vector<PeakFact> peaks_beside(const MemoryFacts& facts, const DeviceFacts* main) {
  std::vector<PeakFact> peaks;
  for (const DeviceFacts& device : facts.devices) {
    const auto highest = std::ranges::max_element(device.peaks, {}, &PeakFact::bytes);
    if (&device == main || highest == device.peaks.end()) continue;
    const std::string kind = kind_of(device.device);
    auto known = std::ranges::find(peaks, kind, &PeakFact::name);
    if (known == peaks.end()) known = peaks.insert(known, PeakFact{kind, {}, {}, {}});
    if (device.peak > known->bytes)
      *known = {kind, device.peak, highest->step, highest->lines, highest->at, highest->graph, highest->modules};
  }
  return peaks;
}

}  // namespace dcmt::analyzer
