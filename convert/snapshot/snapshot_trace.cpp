#include "convert/snapshot/snapshot_trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "convert/snapshot/lifetimes.h"
#include "convert/snapshot/native_frames.h"
#include "trace/base/detail.h"
#include "trace/sql/limits.h"
#include "trace/sql/meta_keys.h"
#include "trace/sql/segment_history.h"
#include "trace/sql/trace_file.h"
#include "trace/sql/trace_writer.h"

namespace dcmt::convert {
namespace {

constexpr std::size_t kRowsBetweenChecks = 4096;  // between checks of the watch
constexpr std::string_view kNoFile = "??";        // as torch names an unknown file
constexpr std::string_view kProfilerStep = "ProfilerStep#";

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::ptrdiff_t at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

/// A path of Windows with slashes, as all others have.
std::string unix_path(std::string_view path) {
  std::string text(path);
  if (path.size() > 2 && path[1] == ':' && path[2] == '\\') std::ranges::replace(text, '\\', '/');
  return text;
}

/// Counts allocated, active or reserved bytes along a device's history.
struct Level {
  std::int64_t now = 0, peak = 0;
  Point peak_at;
  void add(std::int64_t bytes, const Point& at) {
    now += bytes;
    if (now <= peak) return;
    peak = now;
    peak_at = at;
  }
};

class RowWriter {
 public:
  RowWriter(const MemorySnapshot& snapshot, TraceWriter& trace, const analyzer::Watch& watch)
      : snapshot_(snapshot), trace_(trace), watch_(watch) {}

  Status write() {
    DCMT_RETURN_IF_ERROR(trace_.begin());
    order_entries();
    for (std::size_t device = 0; device < snapshot_.devices.size(); ++device) {
      DCMT_RETURN_IF_ERROR(write_device(device));
      watch_.done(0.9 * static_cast<double>(device + 1) / static_cast<double>(snapshot_.devices.size()));
    }
    DCMT_RETURN_IF_ERROR(write_annotations());
    DCMT_RETURN_IF_ERROR(write_interval());
    DCMT_RETURN_IF_ERROR(write_meta());
    return trace_.commit();
  }

 private:
  struct Device {
    DeviceLives lives;
    SegmentHistory segments;
    std::vector<Point> births_before, frees_before;  ///< of blocks from before the history, in order
    std::vector<Point> entries;                      ///< of the entries of the history
  };

  Point next(std::int64_t time_us) {
    now_.ns = std::max(now_.ns, time_us * 1000);
    return {++now_.seq, now_.ns};
  }

  /// Orders all devices together: blocks from before first, then entries and annotations by time.
  void order_entries() {
    devices_.resize(snapshot_.devices.size());
    now_.ns = 1000 * std::max<std::int64_t>(1, earliest_us());
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      Device& device = devices_[i];
      device.lives = lives_of(snapshot_.devices[i]);
      for (const BlockLife& block : device.lives.blocks) {
        if (block.born != kBefore) break;
        device.births_before.push_back(next(0));
        device.frees_before.push_back(block.freed == kBefore ? next(0) : Point());
      }
    }
    begin_ = now_;
    std::vector<std::size_t> at(devices_.size());
    while (true) {
      std::optional<std::size_t> first;
      for (std::size_t i = 0; i < devices_.size(); ++i) {
        const std::vector<Entry>& history = snapshot_.devices[i].history;
        if (at[i] == history.size()) continue;
        if (!first || history[at[i]].time_us < snapshot_.devices[*first].history[at[*first]].time_us) first = i;
      }
      const std::int64_t us = first ? snapshot_.devices[*first].history[at[*first]].time_us : kLargest / 1000;
      for (; annotation_points_.size() < snapshot_.annotations.size() &&
             snapshot_.annotations[annotation_points_.size()].time_us <= us;) {
        annotation_points_.push_back(next(snapshot_.annotations[annotation_points_.size()].time_us));
      }
      if (!first) break;
      devices_[*first].entries.push_back(next(us));
      ++at[*first];
    }
    while (annotation_points_.size() < snapshot_.annotations.size()) annotation_points_.push_back(next(0));
    end_ = next(0);  // when the snapshot is made
  }

  [[nodiscard]] std::int64_t earliest_us() const {
    std::int64_t earliest = 0;
    for (const SnapshotDevice& device : snapshot_.devices) {
      if (device.history.empty()) continue;
      const std::int64_t us = device.history.front().time_us;
      earliest = earliest == 0 ? us : std::min(earliest, us);
    }
    return earliest;
  }

  Expected<RowId> stack_of(const std::optional<ValueId>& frames) {
    if (!frames) return RowId{0};
    const auto [known, fresh] = stacks_.try_emplace(*frames, 0);
    if (!fresh) return known->second;
    std::vector<SnapshotFrame> all = snapshot_.frames(*frames);
    const std::string native = node_and_operator(all);
    const auto innermost = std::ranges::find_if(all, &SnapshotFrame::is_python);
    const bool of_engine = innermost == all.end() || innermost->file.find("torch/autograd/") != std::string_view::npos;
    if (innermost != all.end()) {
      std::erase_if(all, [](const SnapshotFrame& frame) { return !frame.is_python(); });
    } else {
      std::erase_if(all, is_plumbing);
    }
    RowId stack = 0;
    for (auto frame = all.rbegin(); frame != all.rend(); ++frame) {
      DCMT_ASSIGN_OR_RETURN(stack, add_frame(stack, unix_path(frame->file), frame->function, frame->line));
    }
    // A line of Python that starts a backward says less than the node and the operator that ran.
    if (of_engine && !native.empty()) {
      const bool backward = !native.starts_with("aten::");
      DCMT_ASSIGN_OR_RETURN(stack, add_frame(stack, backward ? "backward" : kNoFile, native, 0));
    }
    return stacks_[*frames] = stack;
  }

  Expected<RowId> add_frame(RowId outer, std::string_view file_name, std::string_view function_name,
                            std::int64_t line) {
    DCMT_ASSIGN_OR_RETURN(const RowId file, trace_.intern(file_name));
    DCMT_ASSIGN_OR_RETURN(const RowId function, trace_.intern(function_name));
    DCMT_ASSIGN_OR_RETURN(const RowId id, trace_.frame(file, function, line));
    return trace_.stack(outer, id);
  }

  /// The stack of a block; of one from before the history, which says so, if its own was not kept.
  Expected<RowId> birth_stack_of(const BlockLife& block) {
    if (block.frames || block.born != kBefore) return stack_of(block.frames);
    if (stack_from_before_ == 0) {
      DCMT_ASSIGN_OR_RETURN(stack_from_before_, add_frame(0, kNoFile, "(from before the history)", 0));
    }
    return stack_from_before_;
  }

  std::int64_t stream_of(std::int64_t handle) {
    if (handle == 0) return 0;
    return streams_.try_emplace(handle, static_cast<std::int64_t>(streams_.size()) + 1).first->second;
  }

  [[nodiscard]] Point point(const Device& device, std::int64_t entry) const {
    const auto at = static_cast<std::size_t>(entry);
    return at < device.entries.size() ? device.entries[at] : end_;
  }

  Status write_device(std::size_t number) {
    const Device& device = devices_[number];
    std::vector<std::pair<Point, std::int64_t>> active;
    std::int64_t late_births = 0;
    for (std::size_t i = 0; i < device.lives.blocks.size(); ++i) {
      if (i % kRowsBetweenChecks == 0) DCMT_RETURN_IF_ERROR(watch_.check());
      const BlockLife& block = device.lives.blocks[i];
      BlockRow row;
      row.address = block.address;
      row.bytes = block.bytes;
      row.gpu = static_cast<std::int64_t>(number);
      row.stream = stream_of(block.stream);
      if (block.born == kBefore) {
        row.span.from = device.births_before[i];
      } else if (static_cast<std::size_t>(block.born) == device.entries.size()) {
        // After the last entry. Each block needs a sequence of its own.
        row.span.from = {end_.seq + ++late_births + late_, end_.ns};
      } else {
        row.span.from = point(device, block.born);
      }
      row.id = row.span.from.seq;
      DCMT_ASSIGN_OR_RETURN(row.birth.stack, birth_stack_of(block));
      if (block.freed != kNever) {
        row.span.to = block.freed == kBefore ? device.frees_before[i] : point(device, block.freed);
        if (static_cast<std::size_t>(block.freed) == device.entries.size()) row.span.to = row.span.from;
        DCMT_ASSIGN_OR_RETURN(row.free.stack, stack_of(block.free_frames));
        // Usually the next entry is the end of the requested free: then nothing waited.
        row.waits = block.done != block.freed && (block.freed == kBefore || block.done != block.freed + 1);
        if (row.waits && block.done != kNever) row.done = point(device, block.done);
      }
      DCMT_RETURN_IF_ERROR(trace_.write(row));
      active.emplace_back(row.span.from, block.bytes);
      if (block.freed != kNever && block.done != kNever) active.emplace_back(point(device, block.done), -block.bytes);
    }
    late_ += late_births;
    std::ranges::stable_sort(active, {}, [](const auto& each) { return each.first.seq; });
    Level level;
    for (const auto& [at, bytes] : active) level.add(bytes, at);
    active_.push_back(level);
    DCMT_RETURN_IF_ERROR(write_segments(number));
    DCMT_RETURN_IF_ERROR(write_errors(number));
    return say_of(number);
  }

  /// Reads the device's segments from the history and the end.
  void read_segments(std::size_t number) {
    const SnapshotDevice& said = snapshot_.devices[number];
    Device& device = devices_[number];
    const auto row_of = [&](const auto& of, std::int64_t bytes, bool expandable) {
      SegmentRow row;
      row.gpu = static_cast<std::int64_t>(number);
      row.address = of.address;
      row.bytes = bytes;
      row.stream = stream_of(of.stream);
      row.expandable = expandable;
      return row;
    };
    for (std::size_t i = 0; i < said.history.size(); ++i) {
      const Entry& entry = said.history[i];
      const bool maps = entry.action == Action::kSegmentMap;
      const bool unmaps = entry.action == Action::kSegmentUnmap;
      if (maps || entry.action == Action::kSegmentAlloc) {
        device.segments.begins(row_of(entry, entry.size, maps), device.entries[i]);
      } else if (unmaps || entry.action == Action::kSegmentFree) {
        device.segments.ends(row_of(entry, entry.size, unmaps), device.entries[i]);
      }
    }
    std::vector<SegmentRow> there;
    for (const SnapshotSegment& each : said.segments) there.push_back(row_of(each, each.bytes, each.expandable));
    device.segments.end_with(there, end_);
  }

  Status write_segments(std::size_t number) {
    read_segments(number);
    std::vector<std::pair<std::int64_t, std::int64_t>> changes;  // sequences and bytes
    for (SegmentRow row : devices_[number].segments.rows()) {
      row.id = ++segments_;
      if (!row.span.from.set()) row.span.from = {0, begin_.ns};
      DCMT_RETURN_IF_ERROR(trace_.write(row));
      changes.emplace_back(row.span.from.seq, row.bytes);
      if (row.span.to.set()) changes.emplace_back(row.span.to.seq, -row.bytes);
    }
    std::ranges::sort(changes);  // at one sequence, decreases come first
    Level& level = reserved_.emplace_back();
    for (const auto& [seq, bytes] : changes) level.add(bytes, {seq, 0});
    return {};
  }

  Status write_errors(std::size_t number) {
    const SnapshotDevice& device = snapshot_.devices[number];
    for (std::size_t i = 0; i < device.history.size(); ++i) {
      const Entry& entry = device.history[i];
      if (entry.action != Action::kOutOfMemory) continue;
      const Point at = devices_[number].entries[i];
      OutOfMemoryRow row;
      row.id = at.seq;
      row.ns = at.ns;
      row.gpu = static_cast<std::int64_t>(number);
      row.requested = entry.size;
      if (entry.address >= 0 && entry.address <= kLargestCount) row.free = entry.address;
      DCMT_ASSIGN_OR_RETURN(row.where.stack, stack_of(entry.frames));
      DCMT_RETURN_IF_ERROR(trace_.write(row));
    }
    return {};
  }

  Status say(const std::string& text) {
    DiagnosticRow row;
    row.id = ++diagnostics_;
    row.at = end_;
    row.code = "snapshot";
    DCMT_ASSIGN_OR_RETURN(row.text, trace_.intern(text));
    return trace_.write(row);
  }

  Status say_of(std::size_t number) {
    const SnapshotDevice& device = snapshot_.devices[number];
    if (!device.used()) return {};
    const DeviceLives& lives = devices_[number].lives;
    const std::string name = "cuda:" + std::to_string(number) + ": ";
    std::int64_t allocated = 0, rounded = 0, pending = 0;
    for (const SnapshotBlock& block : device.blocks) {
      (block.state == BlockState::kAllocated ? allocated : pending) += block.bytes;
      if (block.state == BlockState::kAllocated) rounded += block.rounded;
    }
    DCMT_RETURN_IF_ERROR(say(name + "when the snapshot was made, " + grouped(allocated) + " B were allocated (" +
                             grouped(rounded) + " B as the allocator rounds), " + grouped(pending) +
                             " B waited for a stream, " + grouped(device.reserved) + " B were reserved in " +
                             grouped(static_cast<std::int64_t>(device.segments.size())) +
                             (device.segments.size() == 1 ? " segment" : " segments")));
    if (device.history.empty()) {
      return say(name +
                 "the snapshot has no history: the peak is not known, what stands as the peak is what was allocated "
                 "when the snapshot was made");
    }
    if (lives.from_before > 0) {
      DCMT_RETURN_IF_ERROR(say(name + "the history begins when " + grouped(lives.bytes_from_before) + " B in " +
                               grouped(lives.from_before) + (lives.from_before == 1 ? " block was" : " blocks were") +
                               " allocated already: peaks before it are not known. A larger max_entries, or "
                               "recording from the start, has more"));
    }
    for (const auto& [what, times] : {std::pair("blocks", lives.contradictions),
                                      std::pair("segments", devices_[number].segments.contradictions())}) {
      if (times == 0) continue;
      DCMT_RETURN_IF_ERROR(say(name + grouped(times) + (times == 1 ? " time" : " times") + " the history and the " +
                               what + " do not agree, as where actions were skipped: bytes may be wrong"));
    }
    return {};
  }

  /// Ranges of the program become phases; ranges of torch's profiler steps become steps.
  Status write_annotations() {
    std::map<std::string_view, std::vector<std::size_t>> open;
    for (std::size_t i = 0; i < snapshot_.annotations.size(); ++i) {
      const Annotation& annotation = snapshot_.annotations[i];
      std::vector<std::size_t>& begun = open[annotation.name];
      if (annotation.start) {
        begun.push_back(i);
        continue;
      }
      if (begun.empty()) continue;
      MarkRow row;
      row.id = ++marks_;
      row.span = {annotation_points_[begun.back()], annotation_points_[i]};
      begun.pop_back();
      row.kind = "phase";
      if (const std::optional<std::int64_t> step = step_of(annotation.name)) {
        row.kind = "step";
        row.value = *step;
      }
      DCMT_ASSIGN_OR_RETURN(row.name, trace_.intern(annotation.name));
      DCMT_RETURN_IF_ERROR(trace_.write(row));
    }
    return {};
  }
  static std::optional<std::int64_t> step_of(std::string_view name) {
    if (!name.starts_with(kProfilerStep)) return std::nullopt;
    name.remove_prefix(kProfilerStep.size());
    std::int32_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
    return number;
  }

  [[nodiscard]] std::int64_t last_seq() const { return end_.seq + late_; }

  Status write_interval() {
    IntervalRow interval;
    interval.id = 1;
    interval.kept = Kept::kAll;
    interval.records = last_seq();
    interval.span = {{0, 0}, {last_seq(), end_.ns}};
    DCMT_RETURN_IF_ERROR(trace_.write(interval));
    std::vector<std::string> names;
    names.reserve(active_.size());
    for (std::size_t i = 0; i < active_.size(); ++i) {
      if (!snapshot_.devices[i].used()) continue;
      IntervalCurveRow curve;
      curve.interval = 1;
      curve.device = names.emplace_back("cuda:" + std::to_string(i));
      DCMT_RETURN_IF_ERROR(add_curve(i, curve));
      curve.active_peak = active_[i].peak;
      curve.active_end = active_[i].now;
      curve.reserved_peak = reserved_[i].peak;
      curve.reserved_end = reserved_[i].now;
      DCMT_RETURN_IF_ERROR(trace_.write(curve));
    }
    return {};
  }

  Status add_curve(std::size_t number, IntervalCurveRow& curve) {
    DCMT_ASSIGN_OR_RETURN(
        Statement query,
        trace_.database().prepare(
            "SELECT seq, ns, delta FROM (SELECT from_seq AS seq, from_ns AS ns, bytes AS delta FROM block WHERE gpu = "
            "?1"
            " UNION ALL SELECT to_seq, to_ns, -bytes FROM block WHERE gpu = ?1 AND to_seq IS NOT NULL) ORDER BY seq"));
    query.bind(1, static_cast<std::int64_t>(number));
    Level level;
    while (true) {
      DCMT_ASSIGN_OR_RETURN(const bool row, query.step());
      if (!row) break;
      const std::int64_t delta = query.integer(2);
      level.add(delta, {query.integer(0), query.integer(1)});
      ++(delta < 0 ? curve.frees : curve.allocs);
      (delta < 0 ? curve.free_bytes : curve.alloc_bytes) += delta < 0 ? -delta : delta;
    }
    curve.peak_bytes = level.peak;
    curve.peak_at = level.peak_at;
    curve.end_bytes = level.now;
    return {};
  }

  [[nodiscard]] const char* history_text() const {
    bool late = false, any = false;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const std::vector<SegmentRow> segments = devices_[i].segments.rows();
      late = late || devices_[i].lives.from_before > 0 ||
             std::ranges::any_of(segments, [](const SegmentRow& row) { return !row.span.from.set(); });
      // Without a history, torch keeps the latest entry all the same.
      any = any || snapshot_.devices[i].history.size() > 1;
    }
    return !any ? "none" : late ? "late" : "whole";
  }

  Status write_meta() {
    DCMT_RETURN_IF_ERROR(say(
        "made of a memory snapshot of torch: it has blocks of CUDA's caching allocator, with their stacks. Who holds "
        "them, what reads them and what was released is not in it, nor is the CPU: dc-memtrace run records these"));
    for (const auto& [key, value] :
         {std::pair(meta::kState, "finished"), std::pair(meta::kDetail, kSnapshotDetail),
          std::pair(meta::kExit, "exit unseen"), std::pair(meta::kCommand, ""), std::pair(meta::kTorch, ""),
          std::pair(meta::kPython, ""), std::pair(meta::kHistory, history_text())}) {
      DCMT_RETURN_IF_ERROR(trace_.set_meta(key, std::string_view(value)));
    }
    for (const auto& [key, value] : {std::pair(meta::kPid, std::int64_t{0}), std::pair(meta::kRank, std::int64_t{-1}),
                                     std::pair(meta::kWorldSize, std::int64_t{-1}),
                                     std::pair(meta::kStartNs, begin_.ns), std::pair(meta::kStartRealNs, begin_.ns),
                                     std::pair(meta::kEndNs, end_.ns), std::pair(meta::kRealOffsetNs, std::int64_t{0}),
                                     std::pair(meta::kLastSeq, last_seq()), std::pair(meta::kRecords, last_seq())}) {
      DCMT_RETURN_IF_ERROR(trace_.set_meta(key, value));
    }
    return {};
  }

  const MemorySnapshot& snapshot_;
  TraceWriter& trace_;
  const analyzer::Watch& watch_;
  std::vector<Device> devices_;
  std::vector<Point> annotation_points_;
  Point now_, begin_, end_;
  std::int64_t late_ = 0;  ///< number of blocks that were born after the history
  std::vector<Level> active_, reserved_;
  std::unordered_map<ValueId, RowId> stacks_;
  std::unordered_map<std::int64_t, std::int64_t> streams_;
  RowId stack_from_before_ = 0;
  RowId diagnostics_ = 0, marks_ = 0, segments_ = 0;
};

}  // namespace

Status write_snapshot_trace(const MemorySnapshot& snapshot, const std::string& path, const analyzer::Watch& watch) {
  DCMT_ASSIGN_OR_RETURN(Database database, create_trace(path));
  DCMT_ASSIGN_OR_RETURN(TraceWriter trace, TraceWriter::create(std::move(database)));
  DCMT_RETURN_IF_ERROR(RowWriter(snapshot, trace, watch).write());
  DCMT_RETURN_IF_ERROR(watch.check());
  return finish_trace(trace.database());
}

}  // namespace dcmt::convert
