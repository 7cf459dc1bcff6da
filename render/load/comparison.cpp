#include "render/load/comparison.h"

#include <algorithm>
#include <utility>

#include "trace/base/quantities.h"

namespace dcmt::load {
namespace {

/// The approximate number of columns of all steps together. Each step has at least one.
constexpr std::size_t kCells = 2048;
constexpr std::size_t kMostCells = 256;  // per step

using Steps = std::vector<analyzer::Step>;

/// The steps that ended. `diff` compares the first with the first, and so on.
Steps ended(const Session& session) {
  Steps steps;
  for (const analyzer::Step& step : session.analysis.releases.steps) {
    if (step.to.valid()) steps.push_back(step);
  }
  return steps;
}

/// The timeline that `diff` compares: of the later trace the first device, of the earlier trace the first of its kind.
const DeviceTimeline* timeline_of(const Session& session, const std::string& kind) {
  for (const auto& device : session.devices) {
    if (analyzer::kind_of(std::string(device->name())) == kind) return device.get();
  }
  return nullptr;
}

/// The maximum of allocated bytes in each cell of a step.
std::vector<std::int64_t> cells_of(const DeviceTimeline* device, const analyzer::Step& step, std::size_t count) {
  std::vector<std::int64_t> cells(count, 0);
  if (device == nullptr) return cells;
  const scene::Recording& recording = device->recording();
  // Everything that begins with the step is one unit, even if other events have the same time.
  const scene::Unit first = device->unit_of(step.from);
  const scene::Unit end = std::max(device->unit_of(step.to), first + 1);
  const std::int64_t from = recording.ns(first);
  const std::int64_t to = end < recording.units() ? recording.ns(end) : recording.end_ns();
  const double length = std::max(1.0, static_cast<double>(to) - static_cast<double>(from));
  const auto unit_at = [&](std::size_t cell) {
    const double ns = static_cast<double>(from) + length * static_cast<double>(cell) / static_cast<double>(count);
    return std::clamp(recording.first_at(static_cast<std::int64_t>(ns)), first, end);
  };
  for (std::size_t i = 0; i < count; ++i) {
    const scene::Unit begin = i == 0 ? first : unit_at(i);
    const scene::Unit stop = i + 1 == count ? end : unit_at(i + 1);
    // A cell without an event has the last value of the cell before.
    const scene::Unit seen = begin > first ? begin - 1 : begin;
    cells[i] = device->document().curve->column(std::min(seen, end - 1), std::max(stop, seen + 1)).highest;
  }
  return cells;
}

std::string note_of(const DeviceTimeline* device) {
  return device != nullptr ? "peak " + rounded_bytes(device->peak().bytes.value) : "no such device";
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

void add_strips(const Session& before, const Session& after, Comparison& comparison) {
  const DeviceTimeline* was = timeline_of(before, comparison.difference.device);
  const DeviceTimeline* is = timeline_of(after, comparison.difference.device);
  const Steps steps_before = ended(before);
  const Steps steps_after = ended(after);
  comparison.steps = std::min(steps_before.size(), steps_after.size());
  const std::size_t count = std::clamp<std::size_t>(kCells / std::max<std::size_t>(1, comparison.steps), 1, kMostCells);
  scene::Strips& strips = comparison.strips;
  strips.length = std::max(1.0, static_cast<double>(comparison.steps));
  strips.strips = {{"before  " + name_of(before.path), note_of(was), false, false, {}},
                   {"after  " + name_of(after.path), note_of(is), false, false, {}},
                   {"after less before", "", false, true, {}}};
  for (std::size_t i = 0; i < comparison.steps; ++i) {
    strips.ticks.push_back({static_cast<double>(i), "step " + std::to_string(i)});
    const std::vector<std::int64_t> a = cells_of(was, steps_before[i], count);
    const std::vector<std::int64_t> b = cells_of(is, steps_after[i], count);
    for (std::size_t cell = 0; cell < count; ++cell) {
      const double each = 1.0 / static_cast<double>(count);
      const double from = static_cast<double>(i) + static_cast<double>(cell) * each;
      const double to = from + each;
      strips.strips[0].stretches.push_back({from, to, a[cell]});
      strips.strips[1].stretches.push_back({from, to, b[cell]});
      strips.strips[2].stretches.push_back({from, to, b[cell] - a[cell]});
      strips.most = std::max({strips.most, a[cell], b[cell]});
    }
  }
  if (was != nullptr && is != nullptr) {
    const std::int64_t change = is->peak().bytes.value - was->peak().bytes.value;
    strips.strips[2].note =
        "peak " + std::string(change < 0 ? "-" : "+") + rounded_bytes(change < 0 ? -change : change);
  }
}

Expected<std::string> trace_of_rank(const std::string& path, std::int64_t rank) {
  DCMT_ASSIGN_OR_RETURN(const std::vector<std::string> files, traces_of(path));
  if (files.size() == 1) return files.front();
  for (const std::string& file : files) {
    DCMT_ASSIGN_OR_RETURN(const std::int64_t of, rank_of(file));
    if (of == rank) return file;
  }
  return Error{ErrorCode::kNotComparable,
               path + ": no trace of " + (rank >= 0 ? "rank " + std::to_string(rank) : "a process without a rank") +
                   " in this folder. Name one of its traces."};
}

}  // namespace

std::shared_ptr<const Comparison> compare(const Session& before, const Session& after) {
  auto comparison = std::make_shared<Comparison>();
  comparison->before = before.path;
  comparison->after = after.path;
  const analyzer::MemoryFacts was = analyzer::memory_facts(before.path, before.analysis);
  const analyzer::MemoryFacts is = analyzer::memory_facts(after.path, after.analysis);
  for (const analyzer::MemoryFacts* facts : {&was, &is}) {
    for (const std::string& why : facts->unfit) comparison->unfit.push_back(facts->path + ": " + why);
  }
  comparison->difference = analyzer::difference_of(was, is);
  comparison->difference.before = before.path;
  comparison->difference.after = after.path;
  add_strips(before, after, *comparison);
  return comparison;
}

Expected<std::shared_ptr<const Comparison>> compare_with(const std::string& path, const Session& after,
                                                         const analyzer::Watch& watch) {
  DCMT_ASSIGN_OR_RETURN(const std::string file, trace_of_rank(path, after.report.rank));
  DCMT_ASSIGN_OR_RETURN(const std::shared_ptr<Session> before, open_session(file, watch));
  return compare(*before, after);
}

}  // namespace dcmt::load
