// Which addresses CUDA's caching allocator had reserved, and from when to when: rows of the table `segment`, from what
// the allocator says of its segments as it goes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

#include "trace/sql/rows.h"

namespace dcmt {

/// Of one device. Of a segment that is given, its address, bytes, stream and whether it is expandable count. Of an
/// expandable segment each row is a part that was mapped at once; one that is unmapped in part becomes several rows.
///
/// Thread-safety: none.
class SegmentHistory {
 public:
  void begins(const SegmentRow& segment, Moment at);
  /// What nothing was said of before has been there since before the history: its row begins at sequence 0.
  void ends(const SegmentRow& segment, Moment at);
  /// It is there, but since when is not said. What was said of its addresses before counts.
  void is_there(const SegmentRow& segment);
  /// The history is over, and these are there. What it says otherwise changes at `at`.
  void end_with(std::span<const SegmentRow> segments, Moment at);
  /// A row of an earlier part of the history that lasts.
  void resume(const SegmentRow& row);

  /// In the order in which they became known. At no point do two of them share an address.
  [[nodiscard]] const std::vector<SegmentRow>& rows() const { return rows_; }
  /// Calls `visit(row)` for each row that is new or has changed since the last call. It may set the id and the begin.
  template <class Visit>
  void each_changed(Visit&& visit) {
    for (const std::size_t at : changed_) {
      is_changed_[at] = false;
      visit(rows_[at]);
    }
    changed_.clear();
  }
  /// Bytes of the rows that last.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  /// How often one said what cannot be after what was said before.
  [[nodiscard]] std::int64_t contradictions() const { return contradictions_; }

 private:
  using Address = std::uint64_t;
  /// Addresses [from, to).
  struct Range {
    Address from = 0, to = 0;
  };
  /// Addresses of which something was said; of addresses in none, nothing was yet.
  struct Piece {
    Address to = 0;
    std::optional<std::size_t> row;  ///< of the segment that is there; nothing: there is none
    bool is_confirmed = false;       ///< it is there at the end
  };
  using Pieces = std::map<Address, Piece>;

  static Range range_of(const SegmentRow& segment);
  std::size_t add(SegmentRow row, const Range& range);
  void end_row(std::size_t row, Moment at);
  void change(std::size_t row);
  void cut(Address at);
  std::ranges::subrange<Pieces::iterator> pieces_in(const Range& range);
  std::vector<Range> holes_in(const Range& range);
  void put(const Range& range, const Piece& piece);
  void confirm(const SegmentRow& segment, Moment at);

  std::vector<SegmentRow> rows_;
  std::vector<bool> is_changed_;  ///< by row
  std::vector<std::size_t> changed_;
  Pieces pieces_;
  std::int64_t bytes_ = 0;
  std::int64_t contradictions_ = 0;
};

}  // namespace dcmt
