// Storages that one holder keeps beyond the round in which they were made. Usually, each round adds some.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/rules/rounds.h"
#include "analyzer/rules/stored_by.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

/// A storage that is alive at the end.
struct GrowingStorage {
  StorageId storage;
  Bytes bytes;
  Sequence needed_until;  ///< the program does not need it from there on
  bool frees = false;     ///< freed if this container and other growing ones drop it
  bool alone = false;     ///< freed if this container alone drops it
};

struct GrowingSite {
  StackId stack;  ///< the place where they were made
  Bytes bytes;
  std::int64_t storages = 0;
};

/// The holder of what grows in a program without Python, if no reading found it: nothing but references keeps it there.
inline constexpr std::string_view kHeldByCpp = "C++";

/// In a finding about storages whose number does not grow, `rounds` is 0.
struct Growth {
  std::string holder;  ///< "main: probe.seen"; empty: no scan found the storages
  /// Other parts of the same object that grow in the same rounds: "main: probe.labels". They have some of the storages.
  std::vector<std::string> also;
  std::string_view place;  ///< the position of the frame that is the root of the path; empty: another kind of root
  std::string_view type;   ///< "list"; empty: not a container
  RoundKind kind = RoundKind::kStep;
  std::int64_t first_round = 0;          ///< number of rounds before the first one that added to it
  std::int64_t rounds = 0;               ///< in which it grew: from the first one that added to it to the last one
  Bytes begun_with;                      ///< of values that larger ones have replaced: the first ones
  Bytes per_round;                       ///< mean over `rounds`, without what it began with
  Bytes alone;                           ///< bytes of the storages that are freed if the holder alone drops them
  std::int64_t seen = 0;                 ///< number of storages that a scan found there
  std::vector<GrowingStorage> storages;  ///< in the order of creation
  /// Storages that larger ones of the holder have replaced, and those of a round that has not ended. They are not in
  /// the sums, but a peak contains them.
  std::vector<GrowingStorage> beside;
  /// What the holder has of the sums of small blocks.
  std::vector<Gap> of_sums;
  std::vector<GrowingSite> sites;  ///< most bytes first
  Storing stored_by;               ///< statements that may have put them there
  /// When statements that use the entries had run, ascending. Empty: not known.
  std::vector<Sequence> used;
};

/// The storages of one holder, and the places where they were made.
class HeldStorages {
 public:
  void add(const Storage& storage, const GrowingStorage& growing);
  /// Adds those of another holder. What both have is freed if both let go of it.
  void add(const TraceData& data, HeldStorages&& others);
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] std::size_t count() const { return storages_.size(); }
  /// Of all bytes, the part that only several of the holders have together.
  [[nodiscard]] double shared_part() const;
  /// Fills a growth's `storages`, `alone` and `sites`. May be called only once.
  void move_to(Growth& growth);
  /// True if all of its storages are so small that they are tracked only where they become more.
  [[nodiscard]] bool are_small() const;
  [[nodiscard]] StorageId first() const { return storages_.front().storage; }

 private:
  std::vector<GrowingStorage> storages_;
  std::map<StackId, GrowingSite> sites_;
  Bytes bytes_, shared_;
};

/// The gaps of blocks of the storages, from the end of the round that made them: a peak does not need them there.
/// Storages that something else would hold are left out.
[[nodiscard]] std::vector<Gap> gaps_of_growth(const TraceData& data, const Growth& growth);

/// The same where each storage is needed until the next of `used`, if that is later.
[[nodiscard]] std::vector<Gap> gaps_of_used(const TraceData& data, Growth growth);

}  // namespace dcmt::analyzer
