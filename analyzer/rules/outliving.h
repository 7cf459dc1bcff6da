// Storages that outlive the round in which they were made, grouped by the place that made them.
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

/// The position of a storage among the storages of a place and round that live on.
struct Position {
  std::size_t index = 0;
  std::size_t of = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

/// A storage that is alive at the end of the last round.
struct Living {
  const Storage* storage = nullptr;
  std::size_t round = 0;
  Bytes bytes;
  Position position;
};

/// The storages of one place in the program.
struct OutlivingSite {
  std::vector<Living> living;     ///< in the order of creation
  std::vector<Living> after;      ///< made after the last round, and alive at the last birth of any storage
  double made = 0, gone = 0;      ///< bytes, counted after the round from which on they are tracked
  std::array<double, 3> added{};  ///< bytes, by thirds of the run
  std::set<std::size_t> adding;   ///< the rounds that added storages

  [[nodiscard]] bool grows() const;
};

/// The storages of a site with the same position, in the order of their rounds.
using Series = std::vector<const Living*>;
[[nodiscard]] std::vector<Series> series_of(const OutlivingSite& site);

/// Fewer rounds with additions than this are not called growth.
inline constexpr std::size_t kFewestAdding = 3;
/// A run with fewer rounds than this is not judged.
inline constexpr std::int64_t kFewestRounds = 6;

/// The last birth of a storage. What is alive then ends with the program.
[[nodiscard]] Sequence last_birth(const TraceData& data);

/// The places whose storages become more and more. Storages of gathered parameters are left out: the rules of releases
/// judge them.
[[nodiscard]] std::map<StackId, OutlivingSite> growing_sites(const TraceData& data, const Rounds& rounds);

}  // namespace dcmt::analyzer
