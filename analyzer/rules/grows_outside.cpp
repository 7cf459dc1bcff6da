// Memory of the process that is not torch's and grows with each step; with each second, if there are no steps. There
// are two sources: the counters of the kernel, sampled at ends of steps or ten times a second, and the mappings'
// purposes, read at least twice. Not growth: libraries, the page cache of files, buffers of a fixed size that are
// filled, pools that fill up and stop, and mappings of the tool itself.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "analyzer/growth/handles.h"
#include "analyzer/growth/outside_growth.h"
#include "analyzer/growth/outside_kinds.h"
#include "analyzer/growth/rounds.h"
#include "analyzer/load/optional_text.h"
#include "analyzer/rules/rules.h"
#include "trace/base/quantities.h"

namespace dcmt::analyzer {
namespace {

/// The first steps are not judged: at least this many, and at least this share of the run. Of seconds it is one.
constexpr double kFirstSteps = 3, kFirstSeconds = 1, kWarmUpShare = 0.2;
/// Smaller growth is not reported: in bytes, and as a share of the resident memory.
constexpr double kLeast = 8.0 * (1 << 20), kLeastShare = 0.01;
/// A log of numbers grows by less per step. It is reported if its growth reaches this share.
constexpr double kLeastPerStep = 4096, kLeastShareOfLog = 0.1;
/// The share of the counters' growth that the classes must confirm.
constexpr double kConfirmed = 0.5;
/// The same for nodes of autograd: each also has blocks that are not counted, for its edges and the facts of its
/// inputs. Of 123 nodes of 40 layers, those had 1.5 times the bytes of the nodes' own blocks.
constexpr double kConfirmedByNodes = 0.25;
/// malloc has holes between tensors that are kept, where others were. In a list of equal outputs, the holes had 0.9
/// times the size of the tensors. malloc's growth may be holes up to this multiple of the tensors' growth.
constexpr double kMayBeHoles = 3;
/// Of malloc's growth, the share that it must not have free.
constexpr double kLeastInUse = 0.3;

/// What the program has done by a point of its run: steps, or seconds since its imports.
class Progress {
 public:
  explicit Progress(const TraceData& data) : rounds_(Rounds::steps(data)) {
    const auto& samples = data.memory.samples;
    if (samples.empty()) return;
    begin_ = samples.front().ns;
    for (const Scan& scan : data.owners.scans) {
      if (scan.importing) begin_ = std::max(begin_, scan.to);
    }
    all_ = by(samples.back().seq, samples.back().ns);
  }
  [[nodiscard]] bool in_steps() const { return rounds_.steps() > 0; }
  [[nodiscard]] double by(Sequence seq, TimeNs ns) const {
    return in_steps() ? static_cast<double>(rounds_.steps_before(rounds_.at(seq)))
                      : static_cast<double>(ns.value - begin_.value) * 1e-9;
  }
  [[nodiscard]] double by(const Resident& sample) const { return by(sample.seq, sample.ns); }
  [[nodiscard]] double first() const { return in_steps() ? kFirstSteps : kFirstSeconds; }
  [[nodiscard]] double warm_up() const {
    return std::max(first(), kWarmUpShare * (in_steps() ? static_cast<double>(rounds_.steps()) : all_));
  }

 private:
  Rounds rounds_;
  TimeNs begin_;
  double all_ = 0;
};

double number(Bytes bytes) { return static_cast<double>(bytes.value); }

struct ResidentSeries {
  std::function<double(const Resident&)> bytes;
  std::vector<std::string_view> kinds;  ///< kinds of mappings that can explain it
};

/// Memory that torch has handed out and resident memory differ by untouched memory. That is usually constant.
std::vector<ResidentSeries> all_series() {
  std::vector<std::string_view> anonymous(kKindsWithObjects.begin(), kKindsWithObjects.end());
  anonymous.emplace_back("stacks");
  return {{[](const Resident& each) { return number(each.anonymous) - number(each.torch); }, std::move(anonymous)},
          {[](const Resident& each) { return number(each.shared); }, {"shared tensors", "shared memory"}},
          {[](const Resident& each) { return number(each.file); }, {"files"}}};
}

const Mapped* find_kind(std::span<const Mapped> classes, std::string_view kind) {
  const auto found = std::ranges::find(classes, kind, &Mapped::kind);
  return found != classes.end() ? &*found : nullptr;
}

/// The kind that has grown most between two readings of the classes.
struct Grown {
  const Mapped* after = nullptr;
  Bytes before;
  double all = 0;  ///< sum of all kinds
};

Grown grown_between(const ProcessMemory& memory, const Resident& first, const Resident& last,
                    const ResidentSeries& series) {
  Grown grown;
  double most = 0;
  for (const std::string_view kind : series.kinds) {
    const Mapped* after = find_kind(memory.classes_of(last), kind);
    const Mapped* before = find_kind(memory.classes_of(first), kind);
    const Bytes had = before != nullptr ? before->outside() : Bytes();
    const double more = (after != nullptr ? number(after->outside()) : 0) - number(had);
    const double mapped = after != nullptr ? number(after->size) - (before != nullptr ? number(before->size) : 0) : 0;
    // Memory that was mapped before and is used only now, such as a buffer that is filled or a file that is read, is no
    // growth.
    if (more > 0 && mapped < kConfirmed * more) continue;
    grown.all += more;
    if (more <= most) continue;
    most = more;
    grown.after = after;
    grown.before = had;
  }
  return grown;
}

/// The holder of numpy arrays, or of nodes, that explains the growth: found at two readings, and growing as fast.
struct GrowingArrays {
  const ArrayHolder* holder = nullptr;
  double per_step = 0;
};

GrowingArrays growing_arrays(const TraceData& data, const Progress& progress, double per_step) {
  std::map<StringId, std::pair<const ArrayHolder*, const ArrayHolder*>> ends;
  for (const ArrayHolder& each : data.memory.holders) {
    const auto [seen, is_new] = ends.try_emplace(each.path, &each, &each);
    if (!is_new) seen->second.second = &each;
  }
  GrowingArrays most;
  for (const auto& [path, both] : ends) {
    const auto& [first, last] = both;
    const Scan* from = data.owners.scan(first->scan);
    const Scan* to = data.owners.scan(last->scan);
    if (from == nullptr || to == nullptr) continue;
    const double steps = progress.by(to->from, to->ns) - progress.by(from->from, from->ns);
    const double slope = steps > 0 ? (number(last->bytes) - number(first->bytes)) / steps : 0;
    const double least = is_graph(data.text(last->type)) ? kConfirmedByNodes : kConfirmed;
    if (slope >= least * per_step && slope > most.per_step) most = {last, slope};
  }
  return most;
}

/// True if most of malloc's growth is free at the last reading that counted what malloc has free: models or batches of
/// ever other sizes leave holes that the next ones do not fit into. What was free before the growth is not subtracted.
bool is_mostly_free(const ProcessMemory& memory, const std::vector<const Resident*>& read) {
  const Mapped* before = find_kind(memory.classes_of(*read.front()), "malloc");
  const Mapped* after = nullptr;
  for (const Resident* each : read) {
    const Mapped* malloc = find_kind(memory.classes_of(*each), "malloc");
    if (malloc != nullptr && malloc->free) after = malloc;
  }
  if (after == nullptr || before == nullptr) return false;
  const double grown = number(after->outside()) - number(before->outside());
  return grown - number(*after->free) < std::max(kLeast, kLeastInUse * grown);
}

std::string why_of(std::string_view kind) {
  if (kind == "numpy") return "arrays of numpy are added to it all the time, and none is freed";
  if (kind == "graph")
    return "nodes are added to an autograd graph all the time, and none is freed: a sum of losses keeps all of them";
  if (kind == "malloc") {
    return "malloc gives more than it gets back: arrays of numpy or Arrow, an extension in C, large buffers of Python, "
           "or torch's profiler, which keeps its events while it runs";
  }
  if (kind == "python") return "Python has more and more small objects: lists, dictionaries, numbers, texts";
  if (kind == "stacks") return "more and more threads are started, and do not end: each has a stack";
  if (kind == "shared tensors") {
    return "tensors that processes share are kept, as batches of DataLoader's workers: their memory is not the "
           "allocator's";
  }
  if (kind == "shared memory") return "more and more shared memory is mapped, and not unmapped";
  if (kind == "files") return "more and more of files is mapped, and not unmapped";
  return "more and more memory is mapped, by none of the allocators that are recognized";
}

/// Says which collection gains objects of a library meanwhile: they may have the memory.
std::string with_handles(std::string why, const TraceData& data) {
  const std::optional<GrowingHandles> handles = growing_handles(data);
  if (!handles) return why;
  return why + "; meanwhile " + handles->holder + " gains objects of type " + handles->entry_type + " (" +
         grouped(handles->entries) + " now), which may have it";
}

/// @param sampled  the run was one with --native: no line that it sampled explains the growth
std::string fix_of(std::string_view kind, bool sampled) {
  if (kind == "malloc" && sampled) return "see what C and C++ have allocated, by line: dc-memtrace show native";
  if (kind == "numpy") return "keep numbers or copies of what is needed, or clear it after use";
  if (kind == "graph") return "add numbers to it, not tensors: .item(), or .detach() where no backward needs it";
  if (kind == "malloc") return "find the line that allocates: dc-memtrace run --native";
  if (kind == "python") return "find the line that makes the objects: tracemalloc, or memray run";
  if (kind == "stacks") return "end threads that are done, or give the work to a fixed number of them";
  if (kind == "shared tensors") return "keep a copy (.clone()) of what is needed of a batch, or drop it after its step";
  if (sampled) return "close what is no longer used";
  return "find what maps it: dc-memtrace run --native; close what is no longer used";
}

std::optional<OutsideGrowth> growth_of(const TraceData& data, const Progress& progress, const ResidentSeries& series) {
  const ProcessMemory& memory = data.memory;
  std::vector<const Resident*> read = memory.with_classes();
  // Before the first steps have ended, the program imports modules and makes models.
  std::erase_if(read, [&](const Resident* each) { return progress.by(*each) < progress.first(); });
  if (read.size() < 2) return {};
  std::vector<BytesAfter> points, torch;
  for (const Resident& sample : memory.samples) {
    const double steps = progress.by(sample);
    if (steps < progress.warm_up()) continue;
    points.push_back({steps, series.bytes(sample)});
    torch.push_back({steps, number(sample.torch)});
  }
  const std::optional<SteadyGrowth> steady = steady_growth(points, progress.in_steps() ? Evenness() : kEvenInTime);
  if (!steady) return {};
  const double all = steady->per_step * (steady->to - steady->from);
  const double share = steady->per_step < kLeastPerStep ? kLeastShareOfLog : kLeastShare;
  if (all < std::max(kLeast, share * number(memory.samples.back().all()))) return {};
  const double between = progress.by(*read.back()) - progress.by(*read.front());
  const Grown grown = grown_between(memory, *read.front(), *read.back(), series);
  if (grown.after == nullptr || between <= 0 || grown.all < kConfirmed * steady->per_step * between) return {};

  OutsideGrowth growth;
  growth.kind = grown.after->kind;
  growth.file = unless_empty(data.text(grown.after->name));
  growth.unit = progress.in_steps() ? "step" : "second";
  growth.steps = static_cast<std::int64_t>(between);
  growth.per_step = Bytes(static_cast<std::int64_t>(steady->per_step));
  growth.before = grown.before;
  growth.after = grown.after->outside();
  const bool may_be_arrays = growth.kind == "malloc" || growth.kind == "other";
  if (const GrowingArrays arrays = growing_arrays(data, progress, steady->per_step);
      may_be_arrays && arrays.holder != nullptr) {
    growth.kind = is_graph(data.text(arrays.holder->type)) ? "graph" : "numpy";
    growth.holder = data.text(arrays.holder->path);
    growth.place = unless_empty(data.text(arrays.holder->place));
    growth.type = unless_empty(data.text(arrays.holder->type));
    growth.arrays = arrays.holder->arrays;
    growth.after = arrays.holder->bytes;
    growth.file = {};
    Storing storing = stored_by(data, *growth.holder);
    growth.stored_by = std::move(storing.statements);
    growth.called_at = std::move(storing.calls);
  }
  const bool may_be_holes = growth.kind == "malloc" &&
                            (steady->per_step <= kMayBeHoles * median_slope(torch) || is_mostly_free(memory, read));
  return may_be_holes ? std::nullopt : std::optional(std::move(growth));
}

}  // namespace

namespace rules {

std::vector<Finding> grows_outside(const TraceData& data, const Releases&) {
  std::vector<Finding> findings;
  const Progress progress(data);
  for (const ResidentSeries& series : all_series()) {
    std::optional<OutsideGrowth> growth = growth_of(data, progress, series);
    if (!growth) continue;
    Finding finding;
    finding.rule = "grows_outside";
    finding.title = "grows outside torch";
    finding.bytes = growth->holder ? growth->after : Bytes(growth->after.value - growth->before.value);
    finding.confidence = growth->holder && growth->kind != "graph" ? Confidence::kCertain : Confidence::kPartial;
    finding.why = why_of(growth->kind);
    if (growth->kind == "malloc" || growth->kind == "other") finding.why = with_handles(finding.why, data);
    finding.fix = fix_of(growth->kind, !data.native.live.empty());
    finding.outside = std::move(growth);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace rules
}  // namespace dcmt::analyzer
