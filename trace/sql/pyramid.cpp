#include "trace/sql/pyramid.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "trace/sql/limits.h"
#include "trace/sql/row_io.h"
#include "trace/sql/schema.h"
#include "trace/tables/tables.h"

namespace dcmt {
namespace {

bool makes_sense(std::int64_t number) { return number >= 0 && number <= kLargest; }

Error damaged(Database& database, const char* table, std::int64_t id) {
  return {ErrorCode::kBadInput,
          database.path() + ": damaged: row " + std::to_string(id) + " of " + table + " makes no sense."};
}

/// The rows of one device. Rows of level 0 are written as they fill up. The few rows of the other levels are written at
/// the end: they come last in the table's order, and SQLite fills pages in that order.
class Levels {
 public:
  Levels(std::string device, Statement& insert) : device_(std::move(device)), insert_(&insert) {}

  Status add(const PyramidRow& change) { return add(0, change); }

  Status finish() {
    if (levels_.empty()) return {};
    // The first level with a single row is the top. Levels begun above it contain only a copy of that row; they are not
    // written.
    for (std::size_t level = 0;; ++level) {
      if (levels_[level].merged != 0) DCMT_RETURN_IF_ERROR(close(level));
      if (levels_[level].count == 1) break;
    }
    for (std::size_t level = 1; level < levels_.size() && levels_[level - 1].count != 1; ++level) {
      for (const PyramidRow& row : levels_[level].closed) DCMT_RETURN_IF_ERROR(write(level, row));
    }
    return {};
  }

 private:
  struct Level {
    PyramidRow open;
    int merged = 0;  ///< changes merged into the open row
    std::int64_t count = 0;
    std::vector<PyramidRow> closed;
  };

  Status add(std::size_t number, const PyramidRow& row) {
    if (number == levels_.size()) levels_.emplace_back();
    Level& level = levels_[number];
    if (level.merged == 0) {
      level.open = row;
    } else {
      level.open.merge(row);
    }
    return ++level.merged == kPyramidFanOut ? close(number) : Status{};
  }

  Status close(std::size_t number) {
    Level& level = levels_[number];
    level.merged = 0;
    ++level.count;
    if (number == 0) {
      DCMT_RETURN_IF_ERROR(write(number, level.open));
    } else {
      level.closed.push_back(level.open);
    }
    return add(number + 1, level.open);
  }

  Status write(std::size_t level, PyramidRow row) {
    row.device = device_;
    row.level = static_cast<std::int64_t>(level);
    return insert_row(*insert_, row);
  }

  std::string device_;
  Statement* insert_;
  std::deque<Level> levels_;  ///< its elements keep their addresses as it grows
};

/// One device's curve, change by change in the order of sequences.
class Curve {
 public:
  Curve(std::string device, Statement& insert) : device_(std::move(device)), levels_(device_, insert) {}

  [[nodiscard]] const std::string& device() const { return device_; }

  /// False: the curve has an impossible value.
  [[nodiscard]] bool can_change(std::int64_t delta) const {
    return delta >= -kLargest && delta <= kLargest && bytes_ + delta >= -kLargest && bytes_ + delta <= kLargest;
  }

  Status change(const Point& at, std::int64_t delta) {
    bytes_ += delta;
    // If the end of a block was lost, it ends where the next block at its address begins: that is one change.
    if (change_.from.seq != at.seq) {
      DCMT_RETURN_IF_ERROR(add_change());
      change_.from = change_.highest_at = at;
    }
    change_.last = change_.lowest = change_.highest = bytes_;
    return {};
  }

  /// An interval without rows is one change: down to the lower of its two ends, and up to its peak.
  Status pass_interval(const Point& from, const Point& peak_at, std::int64_t to_peak, std::int64_t to_end) {
    DCMT_RETURN_IF_ERROR(add_change());
    PyramidRow row;
    row.from = from;
    row.lowest = bytes_ + std::min<std::int64_t>(0, to_end);
    row.highest = bytes_ + to_peak;
    row.highest_at = peak_at;
    row.last = bytes_ += to_end;
    row.sums_only = 1;
    return levels_.add(row);
  }

  Status finish() {
    DCMT_RETURN_IF_ERROR(add_change());
    return levels_.finish();
  }

 private:
  Status add_change() {
    if (!change_.from.set()) return {};
    const PyramidRow change = std::exchange(change_, {});
    return levels_.add(change);
  }

  std::string device_;
  Levels levels_;
  std::int64_t bytes_ = 0;
  PyramidRow change_;  ///< the latest change; not set: none since the last interval without rows
};

/// Merges three sources in the order of sequences: births (in table order), future deaths of live blocks, and the
/// intervals without rows.
class Merge {
 public:
  Merge(Database& database, Statement blocks, Statement intervals, Statement insert)
      : database_(database), blocks_(std::move(blocks)), intervals_(std::move(intervals)), insert_(std::move(insert)) {}

  Status run() {
    DCMT_RETURN_IF_ERROR(next_interval());
    for (std::int64_t last = 0;;) {
      DCMT_ASSIGN_OR_RETURN(bool more, blocks_.step());
      if (!more) break;
      const std::int64_t id = blocks_.integer(0);
      const std::int64_t bytes = blocks_.integer(1);
      const std::int64_t late = blocks_.integer(3);
      const Point from{id - (late > -kLargest && late < kLargest ? late : 0), blocks_.integer(5)};
      if (!makes_sense(id) || !makes_sense(bytes) || !makes_sense(from.ns) || from.seq < last || from.seq > kLargest) {
        return damaged(database_, "block", id);
      }
      last = from.seq;
      DCMT_RETURN_IF_ERROR(end_blocks_until(from.seq));
      Curve& curve = curve_of(blocks_.optional_integer(2));
      DCMT_RETURN_IF_ERROR(change(curve, from, bytes));
      if (blocks_.is_null(4)) continue;
      const std::int64_t seq_length = blocks_.integer(4);
      const std::int64_t ns_length = blocks_.integer(6);
      if (!makes_sense(seq_length) || !makes_sense(ns_length)) return damaged(database_, "block", id);
      deaths_.push({{from.seq + seq_length, from.ns + ns_length}, bytes, &curve});
    }
    DCMT_RETURN_IF_ERROR(end_blocks_until(std::numeric_limits<std::int64_t>::max()));
    DCMT_RETURN_IF_ERROR(pass_intervals_until(std::numeric_limits<std::int64_t>::max()));
    for (Curve& curve : curves_) DCMT_RETURN_IF_ERROR(curve.finish());
    return {};
  }

 private:
  struct Death {
    Point at;
    std::int64_t bytes;
    Curve* curve;
    bool operator<(const Death& other) const { return at.seq > other.at.seq; }  // a heap whose front is the next death
  };

  Status change(Curve& curve, const Point& at, std::int64_t delta) {
    DCMT_RETURN_IF_ERROR(pass_intervals_until(at.seq));
    if (at.seq <= passed_until_) return {};  // is in the sums
    if (!curve.can_change(delta)) return damaged(database_, "block", at.seq);
    return curve.change(at, delta);
  }

  /// At the same sequence, deaths come before a birth: the new block replaced the old one.
  Status end_blocks_until(std::int64_t seq) {
    while (!deaths_.empty() && deaths_.top().at.seq <= seq) {
      const Death death = deaths_.top();
      deaths_.pop();
      DCMT_RETURN_IF_ERROR(change(*death.curve, death.at, -death.bytes));
    }
    return {};
  }

  Status next_interval() {
    DCMT_ASSIGN_OR_RETURN(bool more, intervals_.step());
    has_interval_ = more;
    return {};
  }

  /// Applies the intervals that began before `seq`.
  Status pass_intervals_until(std::int64_t seq) {
    while (has_interval_ && intervals_.integer(1) < seq) {
      const std::int64_t id = intervals_.integer(0);
      std::array<std::int64_t, 8> numbers;  // from_seq, to_seq, from_ns, begin, peak, peak's seq and ns, end
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = intervals_.integer(static_cast<int>(i) + 1);
      if (!std::all_of(numbers.begin(), numbers.end(), makes_sense)) return damaged(database_, "interval_curve", id);
      const auto [from_seq, to_seq, from_ns, begin, peak, peak_seq, peak_ns, end] = numbers;
      if (from_seq < passed_from_ || peak < begin || peak < end) return damaged(database_, "interval_curve", id);
      passed_from_ = from_seq;
      passed_until_ = std::max(passed_until_, to_seq);
      Curve& curve = curve_of(intervals_.text(9));
      if (!curve.can_change(peak) || !curve.can_change(end - begin)) return damaged(database_, "interval_curve", id);
      // The change happens after from_seq. A peak that equals the begin was reached before that.
      const Point from{from_seq + 1, from_ns};
      DCMT_RETURN_IF_ERROR(
          curve.pass_interval(from, peak_seq > from_seq ? Point{peak_seq, peak_ns} : from, peak - begin, end - begin));
      DCMT_RETURN_IF_ERROR(next_interval());
    }
    return {};
  }

  /// usually the device of the block before
  Curve& curve_of(std::optional<std::int64_t> gpu) {
    if (latest_ == nullptr || latest_gpu_ != gpu) {
      latest_ = &curve_of(gpu ? "cuda:" + std::to_string(*gpu) : "cpu");
      latest_gpu_ = gpu;
    }
    return *latest_;
  }
  Curve& curve_of(std::string_view device) {
    for (Curve& curve : curves_) {
      if (curve.device() == device) return curve;
    }
    return curves_.emplace_back(std::string(device), insert_);
  }

  Database& database_;
  Statement blocks_, intervals_, insert_;
  bool has_interval_ = false;
  std::int64_t passed_from_ = 0, passed_until_ = 0;
  std::priority_queue<Death> deaths_;
  std::deque<Curve> curves_;  ///< its elements keep their addresses
  Curve* latest_ = nullptr;
  std::optional<std::int64_t> latest_gpu_;
};

/// @param prefix  of the table's name: "temp."
Status fill(Database& database, const std::string& prefix) {
  const DeclaredTable table{PyramidRow::kTable, columns_of<PyramidRow>()};
  DCMT_RETURN_IF_ERROR(database.execute("DROP TABLE IF EXISTS " + prefix + std::string(table.table.name) + ";\n" +
                                        create_table_sql(table, kSchemaVersion, prefix)));
  DCMT_ASSIGN_OR_RETURN(
      Statement blocks,
      database.prepare("SELECT id, bytes, gpu, late, seq_length, from_ns, ns_length FROM block ORDER BY id"));
  DCMT_ASSIGN_OR_RETURN(
      Statement intervals,
      database.prepare(
          "SELECT id, i.from_seq, i.to_seq, i.from_ns, begin_bytes, peak_bytes, peak_seq, peak_ns, end_bytes, device"
          " FROM interval i JOIN interval_curve ON interval = id WHERE kept IS NULL ORDER BY i.from_seq"));
  DCMT_ASSIGN_OR_RETURN(Statement insert, database.prepare(insert_sql(table.table, table.columns, prefix)));
  return Merge(database, std::move(blocks), std::move(intervals), std::move(insert)).run();
}

}  // namespace

Status build_pyramid(Database& database, std::string_view schema) {
  DCMT_RETURN_IF_ERROR(database.execute("SAVEPOINT pyramid"));
  Status filled = fill(database, std::string(schema) + ".");
  if (!filled.ok()) static_cast<void>(database.execute("ROLLBACK TO pyramid"));
  const Status released = database.execute("RELEASE pyramid");
  return filled.ok() ? released : filled;
}

}  // namespace dcmt
