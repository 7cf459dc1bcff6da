// Places in the program whose storages become more and more, judged by the births of each place alone.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "analyzer/growth/rounds.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// The position of a storage among those of its place and round that live on.
struct Position {
  std::size_t index = 0;
  std::size_t of = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

/// A storage of a growing place that is alive at the end.
struct Living {
  const Storage* storage = nullptr;
  Bytes bytes;  ///< at the end
  std::size_t round = 0;
  Sequence round_begin, round_end;  ///< `round_end` zero: the round had not ended
  Position position;
  /// Smaller storages of the place that it has replaced, one after the other, as `rows = torch.cat([rows, x])` does.
  std::vector<const Storage*> replaced;
};

struct OutlivingSite {
  std::shared_ptr<const Rounds> rounds;  ///< the turns in which it grows
  std::vector<Living> living;            ///< in the order of creation

  /// True if each of them has replaced smaller ones.
  [[nodiscard]] bool replaces() const { return !living.empty() && !living.front().replaced.empty(); }
};

/// The storages of a site with the same position, in the order of their rounds.
using Series = std::vector<const Living*>;
[[nodiscard]] std::vector<Series> series_of(const OutlivingSite& site);

/// Fewer births of what lives on than this are not called growth.
inline constexpr std::size_t kFewestBirths = 4;

struct GrowingSites {
  std::map<StackId, OutlivingSite> sites;
  /// The last birth of a storage, or the last end of a step or backward pass. What is alive then ends with the program.
  Sequence end;
};

/// The places whose storages become more and more. Storages of gathered parameters are left out: the rules of releases
/// judge them.
[[nodiscard]] GrowingSites growing_sites(const TraceData& data);

}  // namespace dcmt::analyzer
