// What containers that grow keep in storages under 64 KiB. These have no rows in a trace: it has their sums.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analyzer/growth/growth.h"
#include "analyzer/growth/rounds.h"
#include "analyzer/load/trace_data.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

/// A reading counts the small storages to which the entries of one container alone lead. And of a size that gets rows
/// only once the program keeps more and more of it, there were as many in each earlier round. How many were there at
/// another point follows from the sums: bytes that never go again are kept. Of these, holders have what has come since
/// something else had the rest.
class SmallKept {
 public:
  /// @param until  the end of the growth
  SmallKept(const TraceData& data, StringId device, Sequence until);

  /// What the latest reading that found some found in the containers of a holder.
  struct Found {
    Bytes bytes;
    ScanId scan;
    void add(const Container& container) {
      if (container.small.value == 0 || container.small_scan < scan) return;
      if (container.small_scan > scan) bytes = {};
      scan = container.small_scan;
      bytes.value += container.small.value;
    }
  };
  /// A holder whose storages the sums have.
  struct Holder {
    Found found;
    StringId device;
    std::shared_ptr<const Rounds> rounds;
    /// Those with rows, in the order of creation. What a round made is needed as long as others that it made.
    std::vector<GrowingStorage> storages;
    Sequence since;  ///< when it had nothing yet; zero: unknown
  };
  void add(const Holder& holder);
  /// The holder's parts of the sums. After all were added.
  [[nodiscard]] std::vector<Gap> gaps(const Holder& holder) const;

 private:
  struct Sum {
    const Block* block;
    std::int64_t stays;  ///< bytes: the least from then on
  };
  /// What the sums had before sizes of these storages got rows.
  struct Earlier {
    std::int64_t bytes = 0;
    std::int64_t others = 0;  ///< what something else has all the time
  };
  /// When what calls the places of these storages was first seen to work. Zero: nothing of the user's calls them.
  [[nodiscard]] Sequence first_work(const std::vector<GrowingStorage>& storages) const;
  /// nullopt: no size got rows later than others.
  [[nodiscard]] std::optional<Earlier> earlier(const Holder& holder) const;
  /// Steps, or other turns that begin before its storages have rows.
  [[nodiscard]] const Rounds& turns_of(const Holder& holder) const;
  /// True if a reading counted all that the sums have of it.
  [[nodiscard]] bool is_counted(const Holder& holder) const;
  [[nodiscard]] std::vector<Gap> gaps_of_counted(const Holder& holder) const;
  [[nodiscard]] std::int64_t bytes_of(const Holder& holder) const;
  /// What something else has all the time, by a reading.
  [[nodiscard]] std::int64_t others_at(Sequence read, const Rounds& rounds, Sequence since) const;
  /// Of the sums at a point, what never goes again.
  [[nodiscard]] std::int64_t stays_at(Sequence at) const;

  const TraceData& data_;
  Sequence until_;
  const Rounds turns_;
  std::vector<Sum> sums_;  ///< in order
  std::int64_t of_containers_ = 0, of_holders_ = 0;
};

}  // namespace dcmt::analyzer
