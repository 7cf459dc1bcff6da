// Random recordings, and reference answers computed from every lifetime. Only for tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "render/scene/recording.h"

namespace dcmt::scene::testing {

inline int random_below(std::mt19937& random, int bound) {
  return static_cast<int>(random() % static_cast<unsigned>(bound));
}

/// Lifetimes of all lengths in a few bands, with levels and marks between them; several events at one time.
inline Recording random_recording(std::mt19937& random, int events, std::uint16_t bands) {
  Recording recording;
  std::vector<LifetimeId> alive;
  std::int64_t ns = random_below(random, 1000);
  std::int64_t unknown = 0;
  for (int i = 0; i < events; ++i) {
    const int pause = random_below(random, 10);
    if (pause > 3) ns += pause > 8 ? random_below(random, 100000) : random_below(random, 50);
    const int what = random_below(random, 20);
    const auto group = static_cast<std::uint8_t>(random_below(random, kGroups));
    if (what == 0) {
      recording.mark(ns);
    } else if (what == 1) {
      const std::int64_t delta = unknown > 0 && random_below(random, 2) == 0 ? -unknown : random_below(random, 5000);
      unknown += delta;
      recording.level(ns, delta, kGroups - 1);
    } else if (what < 12 || alive.empty()) {
      const std::uint16_t band =
          random_below(random, 15) == 0 ? kNoBand : static_cast<std::uint16_t>(random_below(random, bands));
      alive.push_back(recording.begin(ns, 1 + random_below(random, 10000), group, band, band == 0));
    } else {
      // Usually ends the youngest: stacks of short lifetimes over long ones.
      const std::size_t back = random_below(random, 4) == 0 ? static_cast<std::size_t>(random()) % alive.size() : 0;
      const auto at = alive.end() - 1 - static_cast<std::ptrdiff_t>(back);
      recording.end(ns, *at);
      alive.erase(at);
    }
  }
  recording.finish(ns + random_below(random, 100));
  return recording;
}

inline std::vector<std::int64_t> bytes_by_unit(const Recording& recording) {
  std::vector<std::int64_t> bytes(recording.units());
  std::int64_t level = 0;
  for (Unit unit = 0; unit < recording.units(); ++unit) {
    if (recording.event(unit).kind == Recording::Kind::kLevel) level += recording.change(unit).delta;
    bytes[unit] = level;
  }
  for (const Lifetime& each : recording.lifetimes()) {
    for (Unit unit = each.from; unit < each.to; ++unit) bytes[unit] += each.bytes;
  }
  return bytes;
}

}  // namespace dcmt::scene::testing
