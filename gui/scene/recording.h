// What the timeline draws: the lifetimes of one device in the order of their begins and ends.
//
// Every change is an event; events are numbered from 0. The unit `u` of the timeline lasts from event u to event u + 1,
// so between any two neighbouring events nothing happens, and a lifetime is a stretch [from, to) of units.
// Thread-safety: const once it is filled, so any number of threads may read; beside set_groups all but the groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dcmt::gui::scene {

using Unit = std::uint32_t;
using LifetimeId = std::uint32_t;

/// Groups of the stacked area; the last one is for all that is in none of the others.
inline constexpr std::size_t kGroups = 8;
/// The band of what is drawn in no lane: sums of small blocks are an area, never a bar.
inline constexpr std::uint16_t kNoBand = 0xffff;
inline constexpr LifetimeId kNoLifetime = 0xffffffff;

struct Lifetime {
  Unit from = 0, to = 0;  ///< of one that does not end, `to` is the number of units
  std::int64_t bytes = 0;
  std::uint16_t band = kNoBand;
  std::uint8_t group = 0;
  bool finding = false;  ///< a finding is about it
};

/// A stretch of a lifetime in which it is kept for nothing.
struct Dead {
  LifetimeId lifetime = 0;
  Unit from = 0, to = 0;
};

class Recording {
 public:
  /// Events come in order. Times that go back, as those of several threads may, count as the latest one so far.
  LifetimeId begin(std::int64_t ns, std::int64_t bytes, std::uint8_t group, std::uint16_t band, bool finding = false);
  void end(std::int64_t ns, LifetimeId lifetime);
  /// Bytes that no lifetime is known of come (or, if negative, go).
  void level(std::int64_t ns, std::int64_t delta, std::uint8_t group);
  /// An event at which no bytes change.
  Unit mark(std::int64_t ns);
  /// After the last event. There is at least one unit afterwards.
  void finish(std::int64_t end_ns);

  [[nodiscard]] Unit units() const { return static_cast<Unit>(events_.size()); }
  [[nodiscard]] const std::vector<Lifetime>& lifetimes() const { return lifetimes_; }
  /// When the event happened at which the unit begins.
  [[nodiscard]] std::int64_t ns(Unit unit) const { return times_[unit]; }
  [[nodiscard]] std::int64_t begin_ns() const { return times_.front(); }
  [[nodiscard]] std::int64_t end_ns() const { return end_ns_; }

  enum class Kind : std::uint8_t { kBegin, kEnd, kLevel, kMark };
  struct Event {
    Kind kind = Kind::kMark;
    std::uint32_t index = 0;  ///< of the lifetime, of the level
  };
  [[nodiscard]] Event event(Unit unit) const { return {static_cast<Kind>(events_[unit] & 3U), events_[unit] >> 2U}; }
  struct Change {
    std::int64_t delta = 0;
    std::uint8_t group = 0;
  };
  /// Of the bytes, at the event at which the unit begins.
  [[nodiscard]] Change change(Unit unit) const;
  /// Its bytes alone, which stay as they are while set_groups runs.
  [[nodiscard]] std::int64_t delta(Unit unit) const {
    const Event of = event(unit);
    if (of.kind == Kind::kBegin) return lifetimes_[of.index].bytes;
    if (of.kind == Kind::kEnd) return -lifetimes_[of.index].bytes;
    return of.kind == Kind::kLevel ? levels_[of.index].delta : 0;
  }
  /// Those of `count` units, from `unit_of(0)` on. Lifetimes lie far from each other in memory: all are asked for
  /// before the first is read.
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
  /// The unit that lasts at `ns`: of several that begin there, the last. The first one before all.
  [[nodiscard]] Unit at(std::int64_t ns) const;

  /// Groups may change while everything else stays: the area is stacked by something else. One for each lifetime.
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
  std::vector<std::int64_t> few_times_;  ///< every kStride-th: a search begins here
  std::vector<Lifetime> lifetimes_;
  std::vector<Level> levels_;
  std::int64_t end_ns_ = 0;
};

}  // namespace dcmt::gui::scene
