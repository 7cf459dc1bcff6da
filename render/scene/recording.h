// The data of the timeline: the lifetimes of one device in the order of their begins and ends.
//
// Every change is an event; events are numbered from 0. Unit `u` of the timeline lasts from event u to event u + 1.
// Nothing happens between neighbouring events, so a lifetime is a range [from, to) of units.
// Thread-safety: const after finish(), so any number of threads may read; in parallel with set_groups, everything but
// the groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dcmt::scene {

using Unit = std::uint32_t;
using LifetimeId = std::uint32_t;

/// Groups of the stacked area. The last one contains everything else.
inline constexpr std::size_t kGroups = 8;
/// The band for lifetimes without a lane: sums of small blocks are drawn as an area, never as a bar.
inline constexpr std::uint16_t kNoBand = 0xffff;
inline constexpr LifetimeId kNoLifetime = 0xffffffff;

struct Lifetime {
  Unit from = 0, to = 0;  ///< `to` of a lifetime without an end is the number of units
  std::int64_t bytes = 0;
  std::uint16_t band = kNoBand;
  std::uint8_t group = 0;
  bool finding = false;  ///< a finding is about it
};

/// A part of a lifetime in which it is kept for nothing.
struct Dead {
  LifetimeId lifetime = 0;
  Unit from = 0, to = 0;
};

class Recording {
 public:
  /// Events must come in order. Times that go back, as with several threads, count as the latest time so far.
  LifetimeId begin(std::int64_t ns, std::int64_t bytes, std::uint8_t group, std::uint16_t band, bool finding = false);
  void end(std::int64_t ns, LifetimeId lifetime);
  /// Adds bytes without a known lifetime (negative: removes them).
  void level(std::int64_t ns, std::int64_t delta, std::uint8_t group);
  /// An event without a change of bytes.
  Unit mark(std::int64_t ns);
  /// To be called after the last event. Afterwards there is at least one unit.
  void finish(std::int64_t end_ns);

  [[nodiscard]] Unit units() const { return static_cast<Unit>(events_.size()); }
  [[nodiscard]] const std::vector<Lifetime>& lifetimes() const { return lifetimes_; }
  /// The time of the event at which the unit begins.
  [[nodiscard]] std::int64_t ns(Unit unit) const { return times_[unit]; }
  [[nodiscard]] std::int64_t begin_ns() const { return times_.front(); }
  [[nodiscard]] std::int64_t end_ns() const { return end_ns_; }

  enum class Kind : std::uint8_t { kBegin, kEnd, kLevel, kMark };
  struct Event {
    Kind kind = Kind::kMark;
    std::uint32_t index = 0;  ///< of the lifetime or of the level
  };
  [[nodiscard]] Event event(Unit unit) const { return {static_cast<Kind>(events_[unit] & 3U), events_[unit] >> 2U}; }
  struct Change {
    std::int64_t delta = 0;
    std::uint8_t group = 0;
  };
  /// The change of the bytes at the event at which the unit begins.
  [[nodiscard]] Change change(Unit unit) const;
  /// Only the bytes. They do not change while set_groups runs.
  [[nodiscard]] std::int64_t delta(Unit unit) const {
    const Event of = event(unit);
    if (of.kind == Kind::kBegin) return lifetimes_[of.index].bytes;
    if (of.kind == Kind::kEnd) return -lifetimes_[of.index].bytes;
    return of.kind == Kind::kLevel ? levels_[of.index].delta : 0;
  }
  /// The deltas of `count` units, beginning with `unit_of(0)`. Lifetimes are far apart in memory, so all of them are
  /// prefetched before the first is read.
  template <class UnitOf>
  void deltas(std::size_t count, const UnitOf& unit_of, std::int64_t* found) const {
    for (std::size_t i = 0; i < count; ++i) {
      const Event of = event(unit_of(i));
      if (of.kind == Kind::kBegin || of.kind == Kind::kEnd) __builtin_prefetch(&lifetimes_[of.index]);
    }
    for (std::size_t i = 0; i < count; ++i) found[i] = delta(unit_of(i));
  }

  /// The first unit that begins at `ns` or later; units() if there is none.
  [[nodiscard]] Unit first_at(std::int64_t ns) const;
  /// The unit at time `ns`. If several begin then, the last one; before the first unit, the first one.
  [[nodiscard]] Unit at(std::int64_t ns) const;

  /// Changes the groups, for another stacking of the area; everything else stays. `groups`: one for each lifetime.
  void set_groups(const std::vector<std::uint8_t>& groups);

 private:
  static constexpr std::size_t kStride = 512;

  void add(std::int64_t ns, Kind kind, std::size_t index);
  template <class Search>
  [[nodiscard]] Unit search(const Search& first) const;

  struct Level {
    std::int64_t delta = 0;
    std::uint8_t group = 0;
  };
  std::vector<std::uint32_t> events_;  ///< index and kind
  std::vector<std::int64_t> times_;
  std::vector<std::int64_t> few_times_;  ///< every kStride-th time, for the first step of a search
  std::vector<Lifetime> lifetimes_;
  std::vector<Level> levels_;
  std::int64_t end_ns_ = 0;
};

}  // namespace dcmt::scene
