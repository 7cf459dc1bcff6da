// Storages that one holder keeps beyond the round in which they were made: mostly, each round adds some.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

/// One that was alive at the end of the last round.
struct GrowingStorage {
  StorageId storage;
  Bytes bytes;
  Sequence needed_until;  ///< the program has no use for it from then on
  bool frees = false;     ///< it goes when this container and others that grow let go of it
  bool alone = false;     ///< it goes when this container alone does
  Bytes small = {};       ///< of storages without rows that go with it: its share of those that the container holds
};

struct GrowingSite {
  StackId stack;  ///< where storages were made
  Bytes bytes;
  std::int64_t storages = 0;
};

/// Of a finding about storages that do not become more, `rounds` is 0.
struct Growth {
  std::string holder;       ///< "main: probe.seen"; empty: no scan found them
  std::string_view place;   ///< where the frame stood that is the root of the path; empty: another root
  std::string_view type;    ///< "list"; empty: it is no container
  std::int64_t rounds = 0;  ///< steps in which it grew: from the first that added to it to the last of the run
  Bytes per_round;          ///< mean over these
  bool by_calls = false;    ///< the program has no steps: rounds are its calls of one place
  Bytes alone;              ///< of its storages, those that go when it alone lets go
  std::int64_t seen = 0;    ///< storages that a scan found there
  std::vector<GrowingStorage> storages;  ///< in the order in which they were made
  /// What was made in the same way after the last round: no part of the sums, but a peak there has it.
  std::vector<GrowingStorage> after;
  std::vector<GrowingSite> sites;  ///< most bytes first
};

/// The storages of one holder, and where they were made.
class HeldStorages {
 public:
  void add(const Storage& storage, const GrowingStorage& growing);
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  /// Fills a growth's storages, their bytes that go alone, and sites. To be called once.
  void move_to(Growth& growth);
  /// Shares out what a reading found the container to hold in storages without rows, among those of its storages that
  /// go with it alone.
  void add_small(const TraceData& data, const Container& container);

 private:
  std::vector<GrowingStorage> storages_;
  std::map<StackId, GrowingSite> sites_;
  Bytes bytes_;
};

/// Blocks of its storages, from the end of the round in which they were made: what the peak has of them is not needed.
/// Storages that would be held otherwise are left out.
[[nodiscard]] std::vector<Gap> gaps_of_growth(const TraceData& data, const Growth& growth);

}  // namespace dcmt::analyzer
