// How long a program uses what a place makes, by those storages of it that nothing keeps.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyzer/rules/outliving.h"

namespace dcmt::analyzer {

/// A layer whose hook keeps its outputs has neighbours that run at the same line of the program and keep none. Their
/// place is the same although a hook leads through other lines of the library: the innermost frame and those of the
/// program count.
class NotKept {
 public:
  NotKept(const TraceData& data, const Rounds& rounds, const std::map<StackId, OutlivingSite>& sites);

  /// Until when a kept storage would be of use if it lasted as long as the longest of those that its place made in its
  /// round, of its size, and that ended in that round; nullopt: fewer than two did.
  [[nodiscard]] std::optional<Sequence> until(const Living& living) const;

 private:
  using Place = std::vector<FrameId>;
  struct Batch {
    std::size_t place = 0;
    std::size_t round = 0;
    Bytes bytes;
    friend auto operator<=>(const Batch&, const Batch&) = default;
  };
  struct Lasting {
    std::size_t count = 0;
    std::int64_t longest = 0;  ///< in numbers of the sequence
  };
  std::size_t place_of(StackId stack);
  [[nodiscard]] Place frames_that_count(StackId stack) const;

  const TraceData& data_;
  std::map<Place, std::size_t> places_;
  std::unordered_map<StackId, std::size_t> place_of_stack_;
  std::map<Batch, Lasting> batches_;
};

}  // namespace dcmt::analyzer
