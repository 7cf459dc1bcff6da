#include "collector/recorder/keep/row_keeper.h"

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "collector/recorder/keep/saturating_sum.h"
#include "trace/sql/row_io.h"

namespace dcmt::recorder {
namespace {

/// An interval with more rows ends before its step: waiting rows are in memory.
constexpr std::size_t kCrowd = 100'000;
/// Rows written at once.
constexpr std::size_t kBatch = 50'000;
/// Limit of all held rows, without the interval of the highest peak.
constexpr std::size_t kMostHeldRows = 200'000;

bool is_span(const MarkRow& row) { return row.kind == "step" || row.kind == "phase" || row.kind == "user"; }

std::int64_t from_of(const SampleRow&) { return 0; }
std::int64_t from_of(const LaunchesRow& row) { return row.id; }
/// A step begins right after the end of the one before.
std::int64_t from_of(const MarkRow& row) { return row.kind == "step" ? row.span.from.seq + 1 : row.span.from.seq; }
template <class Row>
std::int64_t from_of(const Row& row) {
  return row.span.from.seq;
}

/// Rows whose number is unlimited even without steps.
template <class Row>
constexpr bool is_left_out_when_full = std::is_same_v<Row, OperatorRow> || std::is_same_v<Row, BlockRow> ||
                                       std::is_same_v<Row, StorageRow> || std::is_same_v<Row, TensorRow>;

/// Rows that are kept if they touch a kept interval.
template <class Row>
bool is_lifetime(const Row& row) {
  if constexpr (std::is_same_v<Row, MarkRow>) {
    return is_span(row);
  } else {
    return !std::is_same_v<Row, LaunchesRow> && !std::is_same_v<Row, SampleRow> && !std::is_same_v<Row, EdgeRow>;
  }
}

/// Calls `visit` for each kind of row until it fails.
template <class Tuple, class Visit>
Status for_each_kind(Tuple& rows, Visit&& visit) {
  Status status;
  std::apply([&](auto&... kind) { (void)((status = visit(kind), status.ok()) && ...); }, rows);
  return status;
}

/// Clears the rows but keeps their memory for the next ones.
template <class Tuple>
void clear(Tuple& rows) {
  std::apply([](auto&... kind) { ((kind.rows.clear(), kind.stored = 0), ...); }, rows);
}

template <class Tuple>
std::size_t count_of(const Tuple& rows) {
  return std::apply([](const auto&... kind) { return (kind.rows.size() + ...); }, rows);
}

}  // namespace

void RowKeeper::begin_interval(IntervalSums sums) {
  current_ = Interval{};
  current_.rows = std::move(spare_);
  current_.sums = std::move(sums);
  current_.kept = policy_.beforehand(next_step_);
  current_.ordinal = ended_steps_ + 1;
  policy_.next();
}

void RowKeeper::start(const Point& at) {
  IntervalSums first;
  first.row.id = next_id_++;
  first.row.span.from = {at.seq - 1, at.ns};
  begin_interval(std::move(first));
}

Status RowKeeper::resume() {
  Database& database = writer_.database();
  policy_.keep_everything();
  IntervalSums last;
  DCMT_RETURN_IF_ERROR(
      each_row_of<IntervalRow>(database, "ORDER BY from_seq DESC LIMIT 1", [&](const IntervalRow& interval) {
        last.row = interval;
        // It goes on.
        last.row.step = {};
        last.row.steps = 0;
        last.row.kept = Kept::kNo;
        last.row.span.to = {};
        kept_until_ = interval.span.to.seq;
      }));
  if (last.row.id == 0) return {};  // no record was committed
  DCMT_RETURN_IF_ERROR(each_row_of<IntervalCurveRow>(database, "WHERE interval = " + std::to_string(last.row.id),
                                                     [&](const IntervalCurveRow& curve) {
                                                       const std::optional<Device> device = Device::named(curve.device);
                                                       if (!device) return;
                                                       last.curves.push_back(curve);
                                                       last.curves.back().device = device->name();
                                                     }));
  DCMT_RETURN_IF_ERROR(
      each_row(database, "SELECT max(id), max(step), coalesce(sum(steps), 0) FROM interval", [&](const Statement& row) {
        next_id_ = row.integer(0) + 1;
        next_step_ = row.is_null(1) ? 0 : saturating_sum(row.integer(1), 1);
        ended_steps_ = row.integer(2);
      }));
  kept_ranges_.emplace_back(0, kept_until_);  // continued lifetimes are those in the trace
  begin_interval(std::move(last));
  return {};
}

template <class Row>
Status RowKeeper::write_soon(const Row& row) {
  std::get<Waiting<Row>>(ready_).rows.push_back(row);
  return ++ready_rows_ < policy_.batch_rows(kBatch) ? Status{} : flush();
}

template <class Row>
Status RowKeeper::put(const Row& row) {
  if (auto& provisional = std::get<Provisional<Row>>(provisional_).ids; !provisional.empty()) provisional.erase(row.id);
  return write_soon(row);
}

Status RowKeeper::flush() {
  if (ready_rows_ == 0) return {};
  ready_rows_ = 0;
  grown_ = true;
  const Status written = for_each_kind(ready_, [this](auto& kind) -> Status {
    using Row = typename std::decay_t<decltype(kind.rows)>::value_type;
    // Stable, so that the last state of a row stays last.
    std::stable_sort(kind.rows.begin(), kind.rows.end(), [](const Row& a, const Row& b) { return a.id < b.id; });
    if (is_left_out_when_full<Row> && policy_.full()) {
      for (const Row& row : kind.rows) {
        DCMT_ASSIGN_OR_RETURN(const bool room, has_room(row));
        if (room) DCMT_RETURN_IF_ERROR(writer_.write(row));
      }
    } else {
      DCMT_RETURN_IF_ERROR(writer_.write(std::span<const Row>(kind.rows)));
    }
    kind.rows.clear();
    return {};
  });
  return written.ok() ? read_size() : written;
}

template <class Row>
Expected<bool> RowKeeper::has_room(const Row& row) {
  if constexpr (is_left_out_when_full<Row>) {
    const bool ended = row.span.to.set();
    Expected<bool> there = writer_.has(row);
    if (!there.ok()) return there;
    const bool room = *there && !(ended && policy_.over());
    if (*there && !room) DCMT_RETURN_IF_ERROR(writer_.erase(row));
    if (!room) ++(ended ? left_out_ended_ : left_out_open_);
    return room;
  }
  return true;
}

void RowKeeper::count_left_out() { left_out_ = left_out_ended_ + std::exchange(left_out_open_, 0); }

template <class Row>
Status RowKeeper::discard(const Row& row) {
  if (std::get<Provisional<Row>>(provisional_).ids.erase(row.id) == 0) return {};
  return writer_.erase(row);
}

template <class Row>
Status RowKeeper::lifetime(const Row& row) {
  if (stays(from_of(row))) return put(row);
  if (is_left_out_when_full<Row> && policy_.only_living()) return discard(row);
  wait(current_, row);
  return {};
}

template <class Row>
Status RowKeeper::point(const Row& row, std::int64_t at_seq) {
  if (at_seq > current_.sums.row.span.from.seq) {
    if (current_.kept != Kept::kNo) return put(row);
    wait(current_, row);
    return {};
  }
  for (Interval& interval : held_) {
    const Span& span = interval.sums.row.span;
    if (span.from.seq < at_seq && at_seq <= span.to.seq) {
      wait(interval, row);
      return {};
    }
  }
  for (const auto& [from, to] : kept_ranges_) {
    if (from < at_seq && at_seq <= to) return put(row);
  }
  return discard(row);
}

Expected<Point> RowKeeper::end_of_storage(RowId id) {
  Point end;
  const auto search = [&](const Rows& rows) {
    for (const StorageRow& row : std::get<Waiting<StorageRow>>(rows).rows) {
      if (row.id == id && row.span.to.set()) end = row.span.to;
    }
  };
  search(current_.rows);
  search(ready_);
  for (const Interval& interval : held_) search(interval.rows);
  if (end.set()) return end;
  DCMT_RETURN_IF_ERROR(each_row_of<StorageRow>(writer_.database(), "WHERE id = " + std::to_string(id),
                                               [&](const StorageRow& row) { end = row.span.to; }));
  return end;
}

template <class Row>
Status RowKeeper::open_lifetime(const Row& row) {
  if (!stays(from_of(row))) std::get<Provisional<Row>>(provisional_).ids.insert(row.id);
  return write_soon(row);
}

Status RowKeeper::write_open(const OperatorRow& row) { return open_lifetime(row); }
Status RowKeeper::write_open(const BlockRow& row) { return open_lifetime(row); }
Status RowKeeper::write_open(const StorageRow& row) {
  return kept_storages_.contains(row.id) ? put(row) : open_lifetime(row);
}
Status RowKeeper::write_open(const TensorRow& row) {
  return kept_storages_.contains(row.storage) ? put(row) : open_lifetime(row);
}
Status RowKeeper::write_open(const MarkRow& row) { return open_lifetime(row); }

Status RowKeeper::write(const MarkRow& row) {
  // A proof is about all steps.
  if (row.kind == "fence" || row.kind == "fence_touch" || row.kind == "poison" || row.kind == "result") {
    return write_soon(row);
  }
  return is_span(row) ? lifetime(row) : point(row, row.span.from.seq);
}
Status RowKeeper::write(const LaunchesRow& row) { return point(row, row.id); }
Status RowKeeper::write(const EdgeRow& row) { return point(row, row.span.from.seq); }
Status RowKeeper::write(const SampleRow& row) { return point(row, current_.sums.row.span.from.seq + 1); }
Status RowKeeper::write(const OperatorRow& row) { return lifetime(row); }
Status RowKeeper::write(const BlockRow& row) { return lifetime(row); }
Status RowKeeper::write(const StorageRow& row) { return kept_storages_.contains(row.id) ? put(row) : lifetime(row); }
Status RowKeeper::write(const TensorRow& row) {
  return kept_storages_.contains(row.storage) ? put(row) : lifetime(row);
}

Status RowKeeper::read_size() {
  DCMT_ASSIGN_OR_RETURN(std::int64_t used, writer_.used_bytes());
  policy_.set_used(used);
  return {};
}

Status RowKeeper::check_volume(const Point& at) {
  if (grown_) {
    grown_ = false;
    if (current_.kept == Kept::kAll && policy_.beforehand(next_step_) != Kept::kAll) {
      return end_interval(std::nullopt, at);
    }
  }
  return count_of(current_.rows) > policy_.most_rows(kCrowd) ? end_interval(std::nullopt, at) : Status{};
}

Status RowKeeper::write_sums(const IntervalSums& sums) {
  DCMT_RETURN_IF_ERROR(writer_.write(sums.row));
  for (const IntervalCurveRow& curve : sums.curves) DCMT_RETURN_IF_ERROR(writer_.write(curve));
  return {};
}

Status RowKeeper::end_interval(std::optional<std::int64_t> step, const Point& at) {
  Interval ended = std::move(current_);
  IntervalRow& row = ended.sums.row;
  row.step = step;
  row.steps = step ? 1 : 0;
  row.span.to = at;
  if (step) {
    next_step_ = saturating_sum(*step, 1);
    ++ended_steps_;
  }
  const Kept reason = ended.kept != Kept::kNo ? ended.kept : policy_.afterwards(step, ended.sums.peak());
  IntervalSums following = ended.sums.next(next_id_++, at);
  begin_interval(std::move(following));
  if (reason != Kept::kNo) {
    DCMT_RETURN_IF_ERROR(keep(ended, reason));
    recycle(ended);
  } else {
    held_.push_back(std::move(ended));
  }
  return drop_superfluous();
}

Status RowKeeper::put_begun_until(Interval& interval, std::int64_t seq) {
  return for_each_kind(interval.rows, [&](auto& kind) -> Status {
    std::size_t left = 0;
    std::size_t stored = 0;
    for (std::size_t i = 0; i < kind.rows.size(); ++i) {
      auto& row = kind.rows[i];
      if (is_lifetime(row) && from_of(row) <= seq) {
        DCMT_RETURN_IF_ERROR(put(row));
        continue;
      }
      if (i < kind.stored) ++stored;
      if (left != i) kind.rows[left] = std::move(row);
      ++left;
    }
    kind.rows.resize(left);
    kind.stored = stored;
    return {};
  });
}

Status RowKeeper::put_all(Interval& interval, Kept reason) {
  interval.sums.row.kept = reason;
  merged_.reset();
  DCMT_RETURN_IF_ERROR(write_sums(interval.sums));
  return for_each_kind(interval.rows, [&](auto& kind) -> Status {
    for (const auto& row : kind.rows) DCMT_RETURN_IF_ERROR(put(row));
    return {};
  });
}

Status RowKeeper::keep(Interval& interval, Kept reason) {
  DCMT_RETURN_IF_ERROR(put_all(interval, reason));
  const Span& span = interval.sums.row.span;
  // Rows that began in it or before, and ended later, wait in a later interval.
  for (Interval& later : held_) {
    if (later.sums.row.span.from.seq >= span.to.seq) DCMT_RETURN_IF_ERROR(put_begun_until(later, span.to.seq));
  }
  if (current_.kept == Kept::kNo) DCMT_RETURN_IF_ERROR(put_begun_until(current_, span.to.seq));
  policy_.kept(interval.sums.peak());
  kept_until_ = std::max(kept_until_, span.to.seq);
  if (!kept_ranges_.empty() && kept_ranges_.back().second == span.from.seq) {
    kept_ranges_.back().second = span.to.seq;
  } else {
    kept_ranges_.emplace_back(span.from.seq, span.to.seq);
  }
  return {};
}

Status RowKeeper::write_dropped_sums(const Interval& interval) {
  IntervalSums sums = interval.sums;
  sums.row.kept = Kept::kNo;
  if (merged_ && merged_->row.span.to.seq == sums.row.span.from.seq && merged_->row.steps < policy_.merged()) {
    if (interval.stored) DCMT_RETURN_IF_ERROR(writer_.erase(sums.row));
    merged_->merge(sums);
  } else {
    merged_ = std::move(sums);
  }
  return write_sums(*merged_);
}

Status RowKeeper::drop(const std::deque<Interval>::iterator& held) {
  DCMT_RETURN_IF_ERROR(write_dropped_sums(*held));
  Interval dropped = std::move(*held);
  const auto after = held_.erase(held);
  Status left = for_each_kind(dropped.rows, [&](auto& kind) -> Status {
    for (const auto& row : kind.rows) {
      // The nearest older held interval that the lifetime touches, if there is one, is not decided yet.
      auto older = after;
      if (is_lifetime(row)) {
        while (older != held_.begin() && from_of(row) > std::prev(older)->sums.row.span.to.seq) --older;
      }
      if (is_lifetime(row) && older != held_.begin()) {
        wait(*std::prev(older), row);
      } else {
        DCMT_RETURN_IF_ERROR(discard(row));
      }
    }
    return {};
  });
  recycle(dropped);
  return left;
}

void RowKeeper::recycle(Interval& interval) {
  clear(interval.rows);
  spare_ = std::move(interval.rows);
}

Status RowKeeper::drop_superfluous() {
  for (;;) {
    std::size_t rows = 0;
    auto highest = held_.end();
    for (auto interval = held_.begin(); interval != held_.end(); ++interval) {
      rows += count_of(interval->rows);
      const std::int64_t peak = interval->sums.peak();
      if (peak > policy_.kept_peak() && (highest == held_.end() || peak > highest->sums.peak())) highest = interval;
    }
    const auto superfluous = std::find_if(held_.begin(), held_.end(), [&](const Interval& interval) {
      const bool recent = interval.ordinal > ended_steps_ - policy_.last() && rows <= policy_.most_rows(kMostHeldRows);
      return !recent && (highest == held_.end() || &interval != &*highest);
    });
    if (superfluous == held_.end()) return {};
    DCMT_RETURN_IF_ERROR(drop(superfluous));
  }
}

Status RowKeeper::store(Interval& interval) {
  interval.stored = true;
  // Its value if the recorder were killed now.
  interval.sums.row.kept = interval.kept != Kept::kNo ? interval.kept : Kept::kLast;
  DCMT_RETURN_IF_ERROR(write_sums(interval.sums));
  return for_each_kind(interval.rows, [&](auto& kind) -> Status {
    for (; kind.stored < kind.rows.size(); ++kind.stored) {
      const auto& row = kind.rows[kind.stored];
      std::get<Provisional<std::decay_t<decltype(row)>>>(provisional_).ids.insert(row.id);
      DCMT_RETURN_IF_ERROR(write_soon(row));
    }
    return {};
  });
}

Status RowKeeper::commit(const Point& at) {
  for (Interval& interval : held_) DCMT_RETURN_IF_ERROR(store(interval));
  current_.sums.row.span.to = at;
  DCMT_RETURN_IF_ERROR(store(current_));
  DCMT_RETURN_IF_ERROR(flush());
  count_left_out();
  return read_size();
}

Status RowKeeper::finish(const Point& at) {
  for (Interval& interval : held_) {
    const bool recent = interval.ordinal > ended_steps_ - policy_.last();
    DCMT_RETURN_IF_ERROR(put_all(interval, recent ? Kept::kLast : Kept::kPeak));
  }
  held_.clear();
  // The last interval is kept in any case: the run ended in it.
  current_.sums.row.span.to = at;
  DCMT_RETURN_IF_ERROR(put_all(current_, current_.kept != Kept::kNo ? current_.kept : Kept::kLast));
  DCMT_RETURN_IF_ERROR(flush());
  count_left_out();
  return {};
}

Status RowKeeper::forget_steps() {
  const auto forget = [](Interval& interval) {
    interval.sums.row.step.reset();
    interval.sums.row.steps = 0;
    auto& marks = std::get<Waiting<MarkRow>>(interval.rows);
    std::erase_if(marks.rows, [](const MarkRow& row) { return row.kind == "step"; });
    marks.stored = 0;  // the next commit writes them again
  };
  for (Interval& interval : held_) forget(interval);
  forget(current_);
  if (merged_) {
    merged_->row.step.reset();
    merged_->row.steps = 0;
  }
  next_step_ = ended_steps_ = 0;
  DCMT_RETURN_IF_ERROR(flush());
  return writer_.forget_steps();
}

}  // namespace dcmt::recorder
