// What the storages of one place are usually held by, and which of them a variable has only until its next value.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "analyzer/rules/outliving.h"

namespace dcmt::analyzer {

/// Who holds a storage, by the latest reading that found it.
struct HeldBy {
  std::vector<ContainerId> containers;
  bool otherwise = true;
  const OwnerPath* path = nullptr;  ///< where there is no container

  /// No reading found a holder of the storage.
  [[nodiscard]] bool nobody() const { return containers.empty() && path == nullptr; }
  friend auto operator<=>(const HeldBy& a, const HeldBy& b) {
    return std::tie(a.containers, a.otherwise) <=> std::tie(b.containers, b.otherwise);
  }
  friend bool operator==(const HeldBy& a, const HeldBy& b) { return (a <=> b) == 0; }
};

[[nodiscard]] HeldBy held_by(const TraceData& data, StorageId storage);

/// What was made after the latest reading is held like most of those that had its position among what a round made
/// there, where there are such, else like most.
class UsualHolders {
 public:
  UsualHolders(const TraceData& data, const OutlivingSite& site);
  [[nodiscard]] HeldBy of(Position position) const;

 private:
  using Counts = std::map<HeldBy, std::int64_t>;

  Counts counts_;
  std::map<Position, Counts> at_position_;
};

/// Variables that get a new value in some rounds: `v = loss(…)`. What was made last hangs on such a variable and on
/// what keeps it. What was made before hangs on the latter alone.
class LatestValues {
 public:
  LatestValues(const TraceData& data, const std::map<StackId, OutlivingSite>& sites);

  /// The reading found the storage where it was a variable's latest value, and the variable has had another one since.
  [[nodiscard]] bool had_it(const Living& living) const { return read_as_latest_.contains(living.storage->id); }

 private:
  std::set<StorageId> read_as_latest_;
};

}  // namespace dcmt::analyzer
