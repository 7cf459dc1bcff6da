#include "analyzer/releases/analyze_releases.h"

#include <algorithm>
#include <map>

#include "analyzer/releases/late.h"
#include "analyzer/releases/lost_stretches.h"
#include "analyzer/releases/reuse.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::analyzer {
namespace {

/// The known operator numbers of each thread. They only increase; those of a damaged trace are corrected.
class OrdinalIndex {
 public:
  explicit OrdinalIndex(const TraceData& data) {
    std::map<ThreadId, std::size_t> counts;
    for (const Operator& op : data.operators) ++counts[op.thread];
    for (const Mark& mark : data.marks) counts[mark.by.thread] += mark.ordinal ? 1 : 0;
    for (const auto& [thread, count] : counts) points_[thread].reserve(count);
    for (const Operator& op : data.operators) points_[op.thread].push_back({op.span.from_seq, op.ordinal, 1});
    for (const Mark& mark : data.marks) {
      if (mark.ordinal) points_[mark.by.thread].push_back({mark.span.from_seq, *mark.ordinal, 0});
    }
    for (auto& [thread, points] : points_) {
      std::ranges::sort(points, {}, &Point::seq);
      for (std::size_t i = 1; i < points.size(); ++i) {
        points[i].ordinal = std::max(points[i].ordinal, points[i - 1].ordinal);
        points[i].operators += points[i - 1].operators;
      }
    }
  }

  /// The number of operators that `thread` began after `from` and before `until` (zero: ever). `from_ordinal` operators
  /// had begun at `from`; `until_ordinal` at `until`, if that is known.
  [[nodiscard]] OperatorCount between(ThreadId thread, Sequence from, std::int64_t from_ordinal, Sequence until,
                                      std::optional<std::int64_t> until_ordinal) const {
    OperatorCount count;
    const auto found = points_.find(thread);
    if (found == points_.end()) return count;
    const Points& points = found->second;
    const auto begin = std::ranges::upper_bound(points, from, {}, &Point::seq);
    const auto end = until.valid() ? std::ranges::lower_bound(points, until, {}, &Point::seq) : points.end();
    const std::int64_t base =
        begin == points.begin() ? from_ordinal : std::max(from_ordinal, std::prev(begin)->ordinal);
    const auto first = std::ranges::upper_bound(points, base, {}, &Point::ordinal);
    std::int64_t highest = base;
    if (begin < end && first < end) {
      const auto counted = std::max(begin, first);
      highest = std::prev(end)->ordinal;
      count.in_trace = std::prev(end)->operators - operators_before(points, counted);
    }
    count.at_least = highest - base;
    if (until_ordinal && *until_ordinal >= highest) {
      count.at_least = *until_ordinal - base;
      count.at_most = count.at_least;
      return count;
    }
    const auto later = std::max(end, std::ranges::upper_bound(points, highest, {}, &Point::ordinal));
    const auto next =
        std::ranges::upper_bound(later, points.end(), operators_before(points, later), {}, &Point::operators);
    if (next != points.end()) count.at_most = next->ordinal - 1 - base;
    if (!count.at_most && count.in_trace == count.at_least) count.at_most = count.at_least;
    return count;
  }

 private:
  struct Point {
    Sequence seq;
    std::int64_t ordinal;    ///< number of operators begun so far
    std::int64_t operators;  ///< rows of the trace among the points up to here
  };
  using Points = std::vector<Point, HugePages<Point>>;

  static std::int64_t operators_before(const Points& points, Points::const_iterator at) {
    return at == points.begin() ? 0 : std::prev(at)->operators;
  }

  std::map<ThreadId, Points> points_;
};

struct KeyMarks {
  std::vector<const Mark*> gathers, waits, persists, touches;
  std::vector<const ReleaseRow*> releases;
};

/// Exact size, and only while releases are judged: the memory is freed before cycles are made.
using Marks = std::vector<const Mark*, HugePages<const Mark*>>;

/// The marks that have keys.
Marks in_order(const TraceData& data) {
  Marks marks;
  marks.reserve(static_cast<std::size_t>(
      std::count_if(data.marks.begin(), data.marks.end(), [](const Mark& mark) { return mark.key.has_value(); })));
  for (const Mark& mark : data.marks) {
    if (mark.key) marks.push_back(&mark);
  }
  std::sort(marks.begin(), marks.end(),
            [](const Mark* a, const Mark* b) { return a->span.from_seq < b->span.from_seq; });
  return marks;
}

/// The first mark after `at`. `marks` must be in order.
std::vector<const Mark*>::const_iterator after(const std::vector<const Mark*>& marks, Sequence at) {
  return std::upper_bound(marks.begin(), marks.end(), at,
                          [](Sequence s, const Mark* m) { return s < m->span.from_seq; });
}

const Mark* last_before(const std::vector<const Mark*>& marks, Sequence at) {
  const auto next = after(marks, at);
  return next == marks.begin() ? nullptr : *std::prev(next);
}

const Mark* first_after(const std::vector<const Mark*>& marks, Sequence at) {
  const auto next = after(marks, at);
  return next == marks.end() ? nullptr : *next;
}

bool happens_inside(const TraceData& data, const Mark& read, const Mark* gather) {
  if (gather == nullptr || !gather->by.op.valid()) return false;
  for (const Operator* op = data.operators.find(read.by.op); op != nullptr; op = data.operators.find(op->parent)) {
    if (op->id == gather->by.op) return true;
  }
  return false;
}

/// True if any thread allocated a block of relevant size between `from` and `until`.
bool memory_allocated(const TraceData& data, Sequence from, Sequence until) {
  const auto& blocks = data.blocks_by_begin;
  auto block = std::upper_bound(blocks.begin(), blocks.end(), from,
                                [](Sequence at, const auto& entry) { return at < entry.first; });
  for (; block != blocks.end() && block->first < until; ++block) {
    if (block->second->bytes.value >= kFollowedBytes && !block->second->owner.valid()) return true;
  }
  return false;
}

/// Splits the uses after the release: reads of the released data, and reads of data that an operator wrote later.
void split_reads(const std::vector<const Mark*>& uses, ReleaseRow& row, SeenOfRelease& seen) {
  Sequence written;
  for (const Mark* use : uses) {
    if (use->kind == MarkKind::kWrite && (!written.valid() || use->span.from_seq < written)) {
      written = use->span.from_seq;
    }
  }
  for (const Mark* use : uses) {
    if (use->kind != MarkKind::kRead) continue;
    if (written.valid() && use->span.from_seq > written) {
      row.overwritten_and_read = true;
    } else {
      seen.reads.push_back(use);
    }
  }
}

void judge(const TraceData& data, const LostStretches& lost, const SeenOfRelease& seen, ReleaseRow& row) {
  const Mark& mark = *row.mark;
  if (mark.flags.no_gather) {
    row.verdict = Verdict::kNoGather;
    return;
  }
  if (mark.flags.persistent) {
    row.verdict = Verdict::kPersistent;
    return;
  }
  if (!mark.flags.final) {
    row.verdict = Verdict::kCounted;
    return;
  }
  if (mark.flags.shared) {
    row.verdict = Verdict::kShared;
    return;
  }
  if (mark.flags.untracked) {
    row.verdict = Verdict::kUntracked;
    return;
  }
  const Storage* storage = data.storages.find(mark.storage);
  if (storage != nullptr) row.gone = first_gone(data, *storage, mark.span.from_seq);
  const bool read_zero = mark.bytes == Bytes(0) || mark.bytes_after == Bytes(0) || mark.bytes_settled == Bytes(0);
  // If that thread does nothing more, allocations of other threads show whether the free was in time. The point of a
  // missing check is unknown.
  const Sequence point = mark.flags.not_settled ? row.at() : mark.settled_seq;
  const bool in_time =
      row.gone && (point.valid() ? row.gone->seq() <= point : !memory_allocated(data, row.at(), row.gone->seq()));
  const bool within_step =
      row.gone && (row.step == nullptr || !row.step->to.valid() || row.gone->seq() <= row.step->to);
  const bool bytes_settled = mark.bytes_settled.value_or(Bytes(0)).value > 0;
  if (read_zero || (in_time && within_step)) {
    row.verdict = Verdict::kFreed;
  } else if (mark.flags.not_settled && row.gone) {
    row.verdict = Verdict::kUnknown;
  } else if (storage == nullptr) {
    row.verdict = Verdict::kUnknown;
    row.residual = bytes_settled;
  } else {
    row.verdict = within_step ? Verdict::kLate : Verdict::kNever;
    row.residual = bytes_settled || row.verdict == Verdict::kNever || !point.valid();
  }
  const Sequence by = row.gone ? row.gone->seq() : row.step != nullptr ? row.step->to : Sequence();
  if (row.residual && lost.touch(row.at(), by)) {
    // Its end, or a later gather, may be among the lost records.
    row.verdict = Verdict::kUnknown;
    row.residual = false;
    row.lost = true;
  }
  row.metadata_only = mark.flags.metadata_only;
  if (!seen.reads.empty()) row.verdict = Verdict::kEarly;
}

/// Makes a row for each release, and groups the marks of each key.
void judge_all(const TraceData& data, std::map<Key, KeyMarks>& keys, Releases& result) {
  const Marks marks = in_order(data);
  std::size_t releases = 0;
  for (const Mark* mark : marks) {
    KeyMarks& of_key = keys[*mark->key];
    if (mark->kind == MarkKind::kGather) of_key.gathers.push_back(mark);
    if (mark->kind == MarkKind::kWait) of_key.waits.push_back(mark);
    if (mark->kind == MarkKind::kPersist) of_key.persists.push_back(mark);
    if (mark->kind == MarkKind::kTouch) of_key.touches.push_back(mark);
    if (mark->kind == MarkKind::kRelease) ++releases;
  }
  if (keys.empty()) return;
  const OrdinalIndex ordinals(data);
  const LostStretches lost(data);
  result.rows.reserve(releases);  // cycles point into the rows
  for (const Mark* mark : marks) {
    if (mark->kind != MarkKind::kRelease) continue;
    KeyMarks& of_key = keys[*mark->key];
    ReleaseRow row;
    SeenOfRelease seen;
    row.mark = mark;
    if (!mark->flags.no_gather) row.gather = last_before(of_key.gathers, mark->span.from_seq);
    // The record of its own gather may be lost.
    if (row.gather != nullptr && row.gather->cycle < mark->cycle) row.gather = nullptr;
    row.step = step_at(result.steps, row.at());
    const Mark* touch = first_after(of_key.touches, mark->span.from_seq);
    if (touch != nullptr && touch->span.from_seq <= row.at()) seen.last_touch = touch;
    const Mark* next_gather = first_after(of_key.gathers, mark->span.from_seq);
    std::vector<const Mark*> uses;
    for (const Mark* use : data.marks_by_parent.of(mark->id)) {
      if (happens_inside(data, *use, next_gather)) continue;
      if (next_gather == nullptr || use->span.from_seq < next_gather->span.from_seq) uses.push_back(use);
    }
    split_reads(uses, row, seen);
    judge(data, lost, seen, row);
    if (mark->flags.final) {
      seen.holders = holders_of_release(data, *mark);
      const Sequence until = row.gone ? row.gone->seq() : Sequence();
      const bool same_thread = row.gone && row.gone->actor().thread == mark->by.thread;
      if (mark->ordinal) {
        row.operators_held = ordinals.between(mark->by.thread, row.at(), *mark->ordinal, until,
                                              same_thread ? row.gone->ordinal() : std::nullopt);
      }
      const bool again = next_gather != nullptr && (!until.valid() || next_gather->span.from_seq < until);
      seen.launches = launch_coverage(data, mark->storage, row.at(), again ? next_gather->span.from_seq : until);
    }
    if (!seen.reads.empty() || seen.holders || seen.launches || seen.last_touch != nullptr) {
      row.seen = std::make_unique<SeenOfRelease>(std::move(seen));
    }
    result.rows.push_back(std::move(row));
    of_key.releases.push_back(&result.rows.back());
  }
}

void make_cycles(const std::map<Key, KeyMarks>& keys, Releases& result) {
  std::size_t cycles = 0, waits = 0;
  for (const auto& [key, of_key] : keys) {
    cycles += of_key.gathers.size();
    waits += of_key.waits.size();
  }
  result.cycles.reserve(cycles);
  // Cycles point into both vectors.
  result.waits.reserve(waits);
  result.rows_by_key.reserve(result.rows.size());
  const auto append = [](const auto& of_key, auto& all) {
    all.insert(all.end(), of_key.begin(), of_key.end());
    return std::span(all).last(of_key.size());
  };
  for (const auto& [key, of_key] : keys) {
    const std::span<const Mark* const> own_waits = append(of_key.waits, result.waits);
    const std::span<const ReleaseRow* const> own_releases = append(of_key.releases, result.rows_by_key);
    auto wait = own_waits.begin();
    auto release = own_releases.begin();
    for (std::size_t i = 0; i < of_key.gathers.size(); ++i) {
      Cycle cycle;
      cycle.gather = of_key.gathers[i];
      cycle.number = cycle.gather->cycle != 0 ? cycle.gather->cycle : static_cast<std::int64_t>(i) + 1;
      cycle.next_gather = i + 1 < of_key.gathers.size() ? of_key.gathers[i + 1] : nullptr;
      const auto before_next = [&](const Mark* mark) {
        return cycle.next_gather == nullptr || mark->span.from_seq < cycle.next_gather->span.from_seq;
      };
      const auto too_early = [&](const Mark* mark) { return mark->span.from_seq < cycle.gather->span.from_seq; };
      while (wait != own_waits.end() && too_early(*wait)) ++wait;
      const auto first_wait = wait;
      while (wait != own_waits.end() && before_next(*wait)) ++wait;
      cycle.waits = {first_wait, wait};
      while (release != own_releases.end() && too_early((*release)->mark)) ++release;
      const auto first_release = release;
      for (; release != own_releases.end() && before_next((*release)->mark); ++release) {
        cycle.persistent = cycle.persistent || (*release)->mark->flags.persistent;
      }
      cycle.releases = {first_release, release};
      // A parameter that was declared persistent stays persistent.
      cycle.persistent = cycle.persistent || (!of_key.persists.empty() && before_next(of_key.persists.front()));
      result.cycles.push_back(cycle);
    }
  }
}

}  // namespace

Releases analyze_releases(const TraceData& data) {
  Releases result;
  result.steps = steps_of(data);
  std::map<Key, KeyMarks> keys;
  judge_all(data, keys, result);
  judge_reuse(data, result);
  judge_late(data, result);
  make_cycles(keys, result);
  return result;
}

}  // namespace dcmt::analyzer
