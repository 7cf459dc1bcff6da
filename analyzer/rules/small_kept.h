// What containers that grow keep in storages without rows, under 64 KiB: of these, a trace has sums.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/rules/growth.h"
#include "analyzer/rules/rounds.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

/// A reading counts the small storages to which the entries of one container alone lead. How many of them were there at
/// another point follows from the sums: bytes that never go again are kept. Of these, containers have what has come
/// since something else had the rest.
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
  void add(const Found& found) { of_containers_ += found.bytes.value; }
  /// The holder's parts of the sums. After all were added. What a round made is needed as long as others
  /// that it made, of `storages`.
  /// @param since  when it had nothing yet; zero: unknown
  [[nodiscard]] std::vector<Gap> gaps(const Found& found, const Rounds& rounds,
                                      const std::vector<GrowingStorage>& storages, Sequence since) const;

 private:
  struct Sum {
    const Block* block;
    std::int64_t stays;  ///< bytes: the least from then on
  };
  /// What something else has all the time, by a reading.
  [[nodiscard]] std::int64_t others_at(Sequence read, const Rounds& rounds, Sequence since) const;
  /// Of the sums at a point, what never goes again.
  [[nodiscard]] std::int64_t stays_at(Sequence at) const;

  const TraceData& data_;
  Sequence until_;
  const Rounds steps_;
  std::vector<Sum> sums_;  ///< in order
  std::int64_t of_containers_ = 0;
};

}  // namespace dcmt::analyzer
