// Storages that outlive the round in which they were made, by the place in the program that made them.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <map>
#include <set>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/rules/rounds.h"

namespace dcmt::analyzer {

/// Which of the storages that a round made at a place and that live on.
struct Position {
  std::size_t index = 0;
  std::size_t of = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

/// One that is alive at the end of the last round.
struct Living {
  const Storage* storage = nullptr;
  std::size_t round = 0;
  Bytes bytes;
  Position position;
};

/// Storages of one place in the program.
struct OutlivingSite {
  std::vector<Living> living;     ///< in the order in which they were made
  std::vector<Living> after;      ///< made after the last round, and alive at the last birth of a storage
  double made = 0, gone = 0;      ///< bytes, after the round from which on they are followed
  std::array<double, 3> added{};  ///< bytes, by thirds of the run
  std::set<std::size_t> adding;   ///< rounds

  [[nodiscard]] bool grows() const;
};

/// Those of a site that have one position, in the order of their rounds.
using Series = std::vector<const Living*>;
[[nodiscard]] std::vector<Series> series_of(const OutlivingSite& site);

/// Rounds that must have added something before anything is said to grow.
inline constexpr std::size_t kFewestAdding = 3;
/// Rounds that a run must have.
inline constexpr std::int64_t kFewestRounds = 6;

/// Of a storage: what is alive then goes with the program.
[[nodiscard]] Sequence last_birth(const TraceData& data);

/// The places that make more and more of them. Storages of gathered parameters are left out: the rules of releases
/// judge them.
[[nodiscard]] std::map<StackId, OutlivingSite> growing_sites(const TraceData& data, const Rounds& rounds);

}  // namespace dcmt::analyzer
