// Rows of an interval wait here until it is decided whether the trace keeps them.
//
// A lifetime (storage, tensor, block, operator, span of a mark) is kept if it touches a kept interval, so every kept
// interval begins with the complete live set. A row of one point (a release, a census and its parts) belongs to the
// interval of that point. While everything is kept, rows pass through.
//
// An interval that is not kept at its end is held for a while: as one of the last, and as the one with the highest
// peak.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "collector/recorder/keep/interval_sums.h"
#include "collector/recorder/keep/retention_policy.h"
#include "trace/base/status.h"
#include "trace/sql/trace_writer.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class RowKeeper {
 public:
  RowKeeper(TraceWriter& writer, RetentionOptions options) : writer_(writer), policy_(std::move(options)) {}

  /// The first interval begins. Call it once, with or without a resume.
  void start(const Point& at);
  /// After a kill, the rows in the trace stay, and all later rows are kept.
  Status resume();

  /// Adds the last state of a row, at the time at which the row got it.
  Status write(const OperatorRow& row);
  Status write(const BlockRow& row);
  Status write(const StorageRow& row);
  Status write(const TensorRow& row);
  Status write(const MarkRow& row);
  Status write(const LaunchesRow& row);
  Status write(const EdgeRow& row);
  Status write(const SampleRow& row);

  /// Writes a lifetime that has not ended to the trace, as of a commit; the row may have to be removed again.
  Status write_open(const OperatorRow& row);
  Status write_open(const BlockRow& row);
  Status write_open(const StorageRow& row);
  Status write_open(const TensorRow& row);
  Status write_open(const MarkRow& row);

  /// The end of a storage whose row was written; not set if it has not ended.
  Expected<Point> end_of_storage(RowId id);

  [[nodiscard]] IntervalSums& sums() { return current_.sums; }
  void see_finding(FindingKind kind, std::int64_t graph, std::int64_t key) { policy_.see_finding(kind, graph, key); }

  /// Memory ran out: what is alive now is kept, whenever it ends.
  void keep_living(const Point& at) { kept_until_ = std::max(kept_until_, at.seq); }
  /// As RetentionOptions::only_living.
  [[nodiscard]] bool keeps_only_living() const { return policy_.only_living(); }

  /// The storage and its tensors are kept, whatever becomes of their intervals.
  void keep_storage(RowId id) { kept_storages_.insert(id); }

  /// The current interval ends with the current record, and the next one begins.
  /// @param step  number of the step that ends here, if one does
  Status end_interval(std::optional<std::int64_t> step, const Point& at);
  /// Call it after every record: ends the interval without a step if too many rows wait, or if the trace has become so
  /// large that its rows are no longer kept.
  Status check_volume(const Point& at);
  /// The automatic steps were wrong: removes their numbers.
  Status forget_steps();

  /// Writes all waiting rows to the trace, so that a kill loses nothing, and reads the size of the trace.
  Status commit(const Point& at);
  /// The run ends: held intervals are kept.
  Status finish(const Point& at);
  /// True once there is no space for rows whose number grows with the run.
  [[nodiscard]] bool full() const { return policy_.full(); }
  /// Lifetimes that are not in the trace since the disk bound was reached, as of the last commit or the finish.
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }

 private:
  template <class Row>
  struct Waiting {
    std::vector<Row> rows;
    std::size_t stored = 0;  ///< how many of them are in the trace, as of a commit
  };
  using Rows = std::tuple<Waiting<OperatorRow>, Waiting<BlockRow>, Waiting<StorageRow>, Waiting<TensorRow>,
                          Waiting<MarkRow>, Waiting<LaunchesRow>, Waiting<SampleRow>, Waiting<EdgeRow>>;
  /// Rows in the trace that may have to be removed.
  template <class Row>
  struct Provisional {
    std::unordered_set<RowId> ids;
  };
  using ProvisionalRows =
      std::tuple<Provisional<OperatorRow>, Provisional<BlockRow>, Provisional<StorageRow>, Provisional<TensorRow>,
                 Provisional<MarkRow>, Provisional<LaunchesRow>, Provisional<SampleRow>, Provisional<EdgeRow>>;
  struct Interval {
    IntervalSums sums;
    Rows rows = Rows();
    Kept kept = Kept::kNo;
    std::int64_t ordinal = 0;  ///< number of its step, or of the step that it is a part of
    bool stored = false;       ///< its row of sums is in the trace, as of a commit
  };

  /// True if a lifetime that began then is kept regardless of its end.
  [[nodiscard]] bool stays(std::int64_t from_seq) const {
    return current_.kept != Kept::kNo || from_seq <= kept_until_;
  }
  template <class Row>
  Status lifetime(const Row& row);
  template <class Row>
  Status open_lifetime(const Row& row);
  template <class Row>
  Status point(const Row& row, std::int64_t at_seq);
  template <class Row>
  static void wait(Interval& interval, const Row& row) {
    std::get<Waiting<Row>>(interval.rows).rows.push_back(row);
  }
  /// Kept rows are written in batches sorted by id, so that SQLite fills pages one after the other.
  template <class Row>
  Status write_soon(const Row& row);
  Status flush();
  /// Whether there is space for the row; counts the row if there is none.
  template <class Row>
  Expected<bool> has_room(const Row& row);
  void count_left_out();
  template <class Row>
  Status put(const Row& row);
  template <class Row>
  Status discard(const Row& row);

  Status put_all(Interval& interval, Kept reason);
  /// Writes the rows of an ended interval, and rows that wait elsewhere for its decision.
  Status keep(Interval& interval, Kept reason);
  Status put_begun_until(Interval& interval, std::int64_t seq);
  Status drop(const std::deque<Interval>::iterator& held);
  Status drop_superfluous();
  void recycle(Interval& interval);
  Status store(Interval& interval);
  Status read_size();
  Status write_sums(const IntervalSums& sums);
  Status write_dropped_sums(const Interval& interval);
  void begin_interval(IntervalSums sums);

  TraceWriter& writer_;
  RetentionPolicy policy_;
  Interval current_;
  std::deque<Interval> held_;    ///< ended intervals, oldest first
  Rows spare_;                   ///< empty, with allocated memory for the next interval
  std::int64_t kept_until_ = 0;  ///< end of the latest kept interval
  std::vector<std::pair<std::int64_t, std::int64_t>> kept_ranges_;
  std::unordered_set<RowId> kept_storages_;
  std::optional<IntervalSums> merged_;  ///< of dropped intervals: a row that may still grow
  ProvisionalRows provisional_;
  Rows ready_;  ///< rows to be written
  std::size_t ready_rows_ = 0;
  std::int64_t left_out_ = 0;
  std::int64_t left_out_ended_ = 0;  ///< how many of them had ended
  std::int64_t left_out_open_ = 0;   ///< since the last commit: the next commit counts them again
  bool grown_ = false;               ///< rows were written since check_volume() last read the size
  RowId next_id_ = 1;
  std::int64_t next_step_ = 0;
  std::int64_t ended_steps_ = 0;
};

}  // namespace dcmt::recorder
