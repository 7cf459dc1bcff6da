// Which addresses CUDA's caching allocator had reserved, and when. Events of the allocator become rows of the table
// `segment`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

#include "trace/tables/memory.h"

namespace dcmt {

/// The history of one device. Of a segment in an argument, only address, bytes, stream and `expandable` are used. For
/// an expandable segment, each row is a part that was mapped at once. If such a part is unmapped only partly, it
/// becomes several rows.
///
/// Thread-safety: none.
class SegmentHistory {
 public:
  void begins(const SegmentRow& segment, Point at);
  /// Addresses without an earlier event were reserved since before the history: their row begins at sequence 0.
  void ends(const SegmentRow& segment, Point at);
  /// The segment is reserved now; its begin is unknown. Earlier events of its addresses have priority.
  void is_there(const SegmentRow& segment);
  /// Ends the history: exactly these segments are reserved now. Addresses that disagree change at `at`.
  void end_with(std::span<const SegmentRow> segments, Point at);
  /// Adds a row that an earlier part of the history left open.
  void resume(const SegmentRow& row);

  /// In the order in which they were added. At no time do two of them share an address.
  [[nodiscard]] const std::vector<SegmentRow>& rows() const { return rows_; }
  /// Calls `visit(row)` for each row that is new or has changed since the last call. `visit` may set the id and the
  /// begin.
  template <class Visit>
  void each_changed(Visit&& visit) {
    for (const std::size_t at : changed_) {
      is_changed_[at] = false;
      visit(rows_[at]);
    }
    changed_.clear();
  }
  /// Sum of the bytes of the open rows.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  /// How many events contradicted earlier events.
  [[nodiscard]] std::int64_t contradictions() const { return contradictions_; }

 private:
  using Address = std::uint64_t;
  /// Addresses [from, to).
  struct Range {
    Address from = 0, to = 0;
  };
  /// Addresses with at least one event. Addresses in no piece have none yet.
  struct Piece {
    Address to = 0;
    std::optional<std::size_t> row;  ///< row of the segment that is reserved here; not set: not reserved
    bool is_confirmed = false;       ///< end_with() has confirmed it
  };
  using Pieces = std::map<Address, Piece>;

  static Range range_of(const SegmentRow& segment);
  std::size_t add(SegmentRow row, const Range& range);
  void end_row(std::size_t row, Point at);
  void change(std::size_t row);
  void cut(Address at);
  std::ranges::subrange<Pieces::iterator> pieces_in(const Range& range);
  std::vector<Range> holes_in(const Range& range);
  void put(const Range& range, const Piece& piece);
  void confirm(const SegmentRow& segment, Point at);

  std::vector<SegmentRow> rows_;
  std::vector<bool> is_changed_;  ///< by index of the row
  std::vector<std::size_t> changed_;
  Pieces pieces_;
  std::int64_t bytes_ = 0;
  std::int64_t contradictions_ = 0;
};

}  // namespace dcmt
