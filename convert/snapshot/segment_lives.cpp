#include "convert/snapshot/segment_lives.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace dcmt::convert {
namespace {

using Address = std::uint64_t;

/// Addresses [from, to).
struct Range {
  Address from = 0, to = 0;
};

Range range_of(std::int64_t address, std::int64_t bytes) {
  const auto from = static_cast<Address>(address);
  const Address most = std::numeric_limits<Address>::max() - from;
  return {from, from + std::min(static_cast<Address>(bytes), most)};
}

class History {
 public:
  explicit History(const SnapshotDevice& device) : device_(device) {}

  SegmentLives lives() {
    for (std::size_t i = 0; i < device_.history.size(); ++i) take(device_.history[i], static_cast<std::int64_t>(i));
    for (const SnapshotSegment& segment : device_.segments) compare(segment);
    for (const auto& [from, piece] : pieces_) {
      if (!piece.segment || piece.confirmed) continue;
      ++lives_.contradictions;
      lives_.segments[*piece.segment].freed = after_history();
    }
    std::ranges::stable_sort(lives_.segments, {}, &SegmentLife::born);
    return std::move(lives_);
  }

 private:
  /// Addresses of which something was said; of addresses in none, nothing was yet.
  struct Piece {
    Address to = 0;
    std::optional<std::size_t> segment;  ///< that is there; nothing: there is none
    bool confirmed = false;              ///< it is there when the snapshot is made
  };
  using Pieces = std::map<Address, Piece>;

  [[nodiscard]] std::int64_t after_history() const { return static_cast<std::int64_t>(device_.history.size()); }

  void take(const Entry& entry, std::int64_t at) {
    const bool maps = entry.action == Action::kSegmentMap;
    const bool unmaps = entry.action == Action::kSegmentUnmap;
    if (entry.size == 0) return;
    const Range range = range_of(entry.address, entry.size);
    SegmentLife life{entry.address, entry.size, entry.stream, maps || unmaps, kBefore, at};
    if (maps || entry.action == Action::kSegmentAlloc) {
      for (const auto& [from, piece] : pieces_in(range)) {
        if (!piece.segment) continue;
        ++lives_.contradictions;
        lives_.segments[*piece.segment].freed = at;
      }
      life.born = at;
      life.freed = kNever;
      put(range, {range.to, add(life, range), false});
    } else if (unmaps || entry.action == Action::kSegmentFree) {
      bool twice = false;
      for (const auto& [from, piece] : pieces_in(range)) {
        twice = twice || !piece.segment;
        if (piece.segment) lives_.segments[*piece.segment].freed = at;
      }
      for (const Range& hole : holes_in(range)) add(life, hole);
      if (twice) ++lives_.contradictions;
      put(range, {range.to, std::nullopt, false});
    }
  }

  void compare(const SnapshotSegment& there) {
    const Range range = range_of(there.address, there.bytes);
    SegmentLife life{there.address, there.bytes, there.stream, there.expandable, kBefore, kNever};
    for (const Range& hole : holes_in(range)) pieces_[hole.from] = {hole.to, add(life, hole), false};
    life.born = after_history();
    for (auto& [from, piece] : pieces_in(range)) {
      if (piece.confirmed || !piece.segment) ++lives_.contradictions;
      if (!piece.segment) piece.segment = add(life, {from, piece.to});
      piece.confirmed = true;
    }
  }

  /// A life as `of`, at these addresses.
  std::size_t add(SegmentLife of, const Range& range) {
    of.address = static_cast<std::int64_t>(range.from);
    of.bytes = static_cast<std::int64_t>(range.to - range.from);
    lives_.segments.push_back(of);
    return lives_.segments.size() - 1;
  }

  /// No piece goes on across that address; what lived there lives on in two parts.
  void cut(Address at) {
    auto piece = pieces_.upper_bound(at);
    if (piece == pieces_.begin()) return;
    --piece;
    if (piece->first == at || piece->second.to <= at) return;
    Piece after = piece->second;
    piece->second.to = at;
    if (after.segment) {
      SegmentLife& before = lives_.segments[*after.segment];
      before.bytes = static_cast<std::int64_t>(at - piece->first);
      after.segment = add(SegmentLife(before), {at, after.to});
    }
    pieces_.emplace(at, after);
  }

  /// Those of the range, which lie wholly in it.
  std::ranges::subrange<Pieces::iterator> pieces_in(const Range& range) {
    cut(range.from);
    cut(range.to);
    return {pieces_.lower_bound(range.from), pieces_.lower_bound(range.to)};
  }

  std::vector<Range> holes_in(const Range& range) {
    std::vector<Range> holes;
    Address at = range.from;
    for (const auto& [from, piece] : pieces_in(range)) {
      if (from > at) holes.push_back({at, from});
      at = piece.to;
    }
    if (at < range.to) holes.push_back({at, range.to});
    return holes;
  }

  /// In place of what was said of these addresses.
  void put(const Range& range, const Piece& piece) {
    const auto old = pieces_in(range);
    pieces_.erase(old.begin(), old.end());
    if (range.from < range.to) pieces_.emplace(range.from, piece);
  }

  const SnapshotDevice& device_;
  SegmentLives lives_;
  Pieces pieces_;
};

}  // namespace

SegmentLives segment_lives_of(const SnapshotDevice& device) { return History(device).lives(); }

}  // namespace dcmt::convert
