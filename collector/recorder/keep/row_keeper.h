// Between those who make rows and the trace: an interval's rows wait here until it is decided whether they are kept.
//
// A lifetime (storage, tensor, block, operator, span of a mark) is kept if it touches an interval that is kept, so
// every such interval opens with the complete live set. A row of one moment (a release, a census and what belongs to
// it) goes with the interval that the moment lies in. While everything is kept, rows pass through.
//
// An interval that was not kept at its end is held for a while: as one of the last, and as the one with the highest
// peak.
#pragma once

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

  /// The first interval begins. Call once, with or without a resume.
  void start(const Moment& at);
  /// After a kill, what is in the trace stays, and everything from here on is kept.
  Status resume();

  /// Takes the last state of a row, at the moment at which it came to it.
  Status write(const OperatorRow& row);
  Status write(const BlockRow& row);
  Status write(const StorageRow& row);
  Status write(const TensorRow& row);
  Status write(const MarkRow& row);
  Status write(const LaunchesRow& row);
  Status write(const EdgeRow& row);
  Status write(const SampleRow& row);

  /// Puts a lifetime that lasts into the trace, as of a commit; it may have to leave again.
  Status write_open(const OperatorRow& row);
  Status write_open(const BlockRow& row);
  Status write_open(const StorageRow& row);
  Status write_open(const TensorRow& row);
  Status write_open(const MarkRow& row);

  /// When a storage ended whose row was written; not set if it has not.
  Expected<Moment> end_of_storage(RowId id);

  [[nodiscard]] IntervalSums& sums() { return current_.sums; }
  void see_finding(FindingKind kind, std::int64_t graph, std::int64_t key) { policy_.see_finding(kind, graph, key); }

  /// The running interval ends with the current record, and the next one begins.
  /// @param step  number of the step that ends here, if one does
  Status end_interval(std::optional<std::int64_t> step, const Moment& at);
  /// After every record: ends the interval though no step does, if too many rows wait, or if the trace has become so
  /// large that its rows are no longer kept.
  Status check_volume(const Moment& at);
  /// What were taken for steps were none: their numbers go.
  Status forget_steps();

  /// Puts all that waits into the trace, so that a kill loses nothing, and looks how large the trace has become.
  Status commit(const Moment& at);
  /// The run ends: what is held is kept.
  Status finish(const Moment& at);
  /// True once there is no room for anything that a program makes more of as long as it runs.
  [[nodiscard]] bool full() const { return policy_.full(); }
  /// Lifetimes that are not in the trace since the disk bound was reached, as of the last commit or the finish.
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }

 private:
  template <class Row>
  struct Waiting {
    std::vector<Row> rows;
    std::size_t stored = 0;  ///< so many of them are in the trace, as of a commit
  };
  using Rows = std::tuple<Waiting<OperatorRow>, Waiting<BlockRow>, Waiting<StorageRow>, Waiting<TensorRow>,
                          Waiting<MarkRow>, Waiting<LaunchesRow>, Waiting<SampleRow>, Waiting<EdgeRow>>;
  /// Rows in the trace that may have to leave it.
  template <class Row>
  struct Provisional {
    std::unordered_set<RowId> ids;
  };
  using ProvisionalRows =
      std::tuple<Provisional<OperatorRow>, Provisional<BlockRow>, Provisional<StorageRow>, Provisional<TensorRow>,
                 Provisional<MarkRow>, Provisional<LaunchesRow>, Provisional<SampleRow>, Provisional<EdgeRow>>;
  struct Interval {
    IntervalSums sums;
    Rows rows;
    Kept kept = Kept::kNo;
    std::int64_t ordinal = 0;  ///< of the step that it is, or is a part of
    bool stored = false;       ///< its row of sums is in the trace, as of a commit
  };

  /// True if a lifetime that began then is kept, whenever it ends.
  [[nodiscard]] bool stays(std::int64_t from_seq) const {
    return current_.kept != Kept::kNo || from_seq <= kept_until_;
  }
  template <class Row>
  Status lifetime(const Row& row);
  template <class Row>
  Status open_lifetime(const Row& row);
  template <class Row>
  Status moment(const Row& row, std::int64_t at_seq);
  template <class Row>
  static void wait(Interval& interval, const Row& row) {
    std::get<Waiting<Row>>(interval.rows).rows.push_back(row);
  }
  /// What is kept goes into the trace a batch at a time, in the order of ids: pages are filled one after the other.
  template <class Row>
  Status write_soon(const Row& row);
  Status flush();
  /// Whether there is room for the row; counts it if there is none.
  template <class Row>
  Expected<bool> has_room(const Row& row);
  void count_left_out();
  template <class Row>
  Status put(const Row& row);
  template <class Row>
  Status discard(const Row& row);

  Status put_all(Interval& interval, Kept reason);
  /// Puts the rows of an interval that is over, and what waits elsewhere for its decision.
  Status keep(Interval& interval, Kept reason);
  Status put_begun_until(Interval& interval, std::int64_t seq);
  Status drop(const std::deque<Interval>::iterator& held);
  Status drop_superfluous();
  void recycle(Interval& interval);
  Status store(Interval& interval);
  Status look_at_size();
  Status write_sums(const IntervalSums& sums);
  Status write_dropped_sums(const Interval& interval);
  void begin_interval(IntervalSums sums);

  TraceWriter& writer_;
  RetentionPolicy policy_;
  Interval current_;
  std::deque<Interval> held_;    ///< ended, oldest first
  Rows spare_;                   ///< empty, with memory for the next interval
  std::int64_t kept_until_ = 0;  ///< end of the latest kept interval
  std::vector<std::pair<std::int64_t, std::int64_t>> kept_ranges_;
  std::optional<IntervalSums> merged_;  ///< of dropped intervals: a row that may still grow
  ProvisionalRows provisional_;
  Rows ready_;  ///< to be written
  std::size_t ready_rows_ = 0;
  std::int64_t left_out_ = 0;
  std::int64_t left_out_ended_ = 0;  ///< of them, those whose last state that was
  std::int64_t left_out_open_ = 0;   ///< since the last commit: they come again with the next one
  bool grown_ = false;               ///< rows were written since check_volume() looked
  RowId next_id_ = 1;
  std::int64_t next_step_ = 0;
  std::int64_t ended_steps_ = 0;
};

}  // namespace dcmt::recorder
