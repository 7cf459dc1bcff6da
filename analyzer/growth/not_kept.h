// How long a program needs the storages of a place, derived from those storages of the place that nothing keeps.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyzer/growth/growing_sites.h"

namespace dcmt::analyzer {

/// A layer whose hook keeps its outputs has neighbours that run at the same line of the program and keep none. They
/// count as one place, although the hook runs through other lines of the library: only the innermost frame and the
/// frames of the program are compared.
class NotKept {
 public:
  NotKept(const TraceData& data, const GrowingSites& growing);

  /// When a kept storage would end if it lived as long as the longest-lived comparable storage: same place, round and
  /// size, and ended in that round. nullopt: there are fewer than two of those.
  [[nodiscard]] std::optional<Sequence> until(const Living& living) const;

 private:
  using Place = std::vector<FrameId>;
  struct Kind {
    std::size_t place = 0;
    Bytes bytes;
    friend auto operator<=>(const Kind&, const Kind&) = default;
  };
  struct Life {
    Sequence from, to;
  };
  std::size_t place_of(StackId stack);
  [[nodiscard]] Place frames_that_count(StackId stack) const;

  const TraceData& data_;
  const Sequence end_of_all_;
  std::map<Place, std::size_t> places_;
  std::unordered_map<StackId, std::size_t> place_of_stack_;
  std::map<Kind, std::vector<Life>> ended_;  ///< ascending
};

}  // namespace dcmt::analyzer
