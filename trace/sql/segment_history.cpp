#include "trace/sql/segment_history.h"

#include <algorithm>
#include <limits>

namespace dcmt {

SegmentHistory::Range SegmentHistory::range_of(const SegmentRow& segment) {
  const auto from = static_cast<Address>(segment.address);
  const Address most = std::numeric_limits<Address>::max() - from;
  return {from, from + std::min(static_cast<Address>(segment.bytes), most)};
}

void SegmentHistory::begins(const SegmentRow& segment, Point at) {
  const Range range = range_of(segment);
  for (const auto& [from, piece] : pieces_in(range)) {
    if (!piece.row) continue;
    ++contradictions_;
    end_row(*piece.row, at);
  }
  SegmentRow row = segment;
  row.span = {at, {}};
  if (range.from < range.to) put(range, {range.to, add(row, range), false});
}

void SegmentHistory::ends(const SegmentRow& segment, Point at) {
  const Range range = range_of(segment);
  bool twice = false;
  for (const auto& [from, piece] : pieces_in(range)) {
    twice = twice || !piece.row;
    if (piece.row) end_row(*piece.row, at);
  }
  if (twice) ++contradictions_;
  SegmentRow row = segment;
  row.span = {};
  for (const Range& hole : holes_in(range)) end_row(add(row, hole), at);
  put(range, {range.to, std::nullopt, false});
}

void SegmentHistory::is_there(const SegmentRow& segment) {
  SegmentRow row = segment;
  row.span = {};
  for (const Range& hole : holes_in(range_of(segment))) pieces_[hole.from] = {hole.to, add(row, hole), false};
}

void SegmentHistory::end_with(std::span<const SegmentRow> segments, Point at) {
  for (const SegmentRow& segment : segments) confirm(segment, at);
  for (auto& [from, piece] : pieces_) {
    if (!piece.row || piece.is_confirmed) continue;
    ++contradictions_;
    end_row(*piece.row, at);
  }
}

void SegmentHistory::confirm(const SegmentRow& segment, Point at) {
  is_there(segment);
  SegmentRow row = segment;
  row.span = {at, {}};
  for (auto& [from, piece] : pieces_in(range_of(segment))) {
    if (piece.is_confirmed || !piece.row) ++contradictions_;
    if (!piece.row) piece.row = add(row, {from, piece.to});
    piece.is_confirmed = true;
  }
}

void SegmentHistory::resume(const SegmentRow& row) {
  const Range range = range_of(row);
  if (range.from == range.to) return;
  pieces_.insert_or_assign(range.from, Piece{range.to, rows_.size(), false});
  rows_.push_back(row);
  is_changed_.push_back(false);
  bytes_ += row.bytes;
}

/// Adds a row like `row` for these addresses.
std::size_t SegmentHistory::add(SegmentRow row, const Range& range) {
  row.id = 0;
  row.address = static_cast<std::int64_t>(range.from);
  row.bytes = static_cast<std::int64_t>(range.to - range.from);
  bytes_ += row.bytes;
  rows_.push_back(row);
  is_changed_.push_back(false);
  change(rows_.size() - 1);
  return rows_.size() - 1;
}

void SegmentHistory::end_row(std::size_t row, Point at) {
  if (rows_[row].span.to.set()) return;
  rows_[row].span.to = at;
  bytes_ -= rows_[row].bytes;
  change(row);
}

void SegmentHistory::change(std::size_t row) {
  if (is_changed_[row]) return;
  is_changed_[row] = true;
  changed_.push_back(row);
}

/// Splits the piece that contains this address. Its row is split into two rows.
void SegmentHistory::cut(Address at) {
  auto piece = pieces_.upper_bound(at);
  if (piece == pieces_.begin()) return;
  --piece;
  if (piece->first == at || piece->second.to <= at) return;
  Piece after = piece->second;
  piece->second.to = at;
  if (after.row) {
    SegmentRow& before = rows_[*after.row];
    const Range rest{at, after.to};
    before.bytes -= static_cast<std::int64_t>(rest.to - rest.from);
    bytes_ -= static_cast<std::int64_t>(rest.to - rest.from);
    change(*after.row);
    after.row = add(before, rest);
  }
  pieces_.emplace(at, after);
}

/// The pieces of the range. Pieces that cross its ends are split first.
std::ranges::subrange<SegmentHistory::Pieces::iterator> SegmentHistory::pieces_in(const Range& range) {
  cut(range.from);
  cut(range.to);
  return {pieces_.lower_bound(range.from), pieces_.lower_bound(range.to)};
}

std::vector<SegmentHistory::Range> SegmentHistory::holes_in(const Range& range) {
  std::vector<Range> holes;
  Address at = range.from;
  for (const auto& [from, piece] : pieces_in(range)) {
    if (from > at) holes.push_back({at, from});
    at = piece.to;
  }
  if (at < range.to) holes.push_back({at, range.to});
  return holes;
}

/// Replaces the pieces of these addresses.
void SegmentHistory::put(const Range& range, const Piece& piece) {
  const auto old = pieces_in(range);
  pieces_.erase(old.begin(), old.end());
  if (range.from < range.to) pieces_.emplace(range.from, piece);
}

}  // namespace dcmt
