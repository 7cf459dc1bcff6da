// Two sets of storages of equal sizes: what a load, a save, a cast or a copy has twice.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

/// A storage that the program has twice: the one that ends first, and from when both exist.
struct TwiceAlive {
  StorageId storage;
  Sequence since;
};

/// The two sets, at a device's peak.
struct Duplicate {
  std::string made, other;    ///< the lines that made the set that ends first, and most of the other one
  std::int64_t storages = 0;  ///< of the set that ends first
  Bytes bytes;                ///< of it
  Bytes other_bytes;          ///< of the other set: another number if the element types differ
  StackId stack;              ///< of the set that ends first
  std::vector<TwiceAlive> twice;

  static constexpr std::string_view kShape = "duplicate";
  static void describe(auto&& field) {
    field("made", &Duplicate::made, "the line that made the set that ends first");
    field("other", &Duplicate::other, "the line that made most of the other set");
    field("storages", &Duplicate::storages, "of the set that ends first");
    field("bytes", &Duplicate::bytes, "of it");
    field("other_bytes", &Duplicate::other_bytes, "of the other set: it differs where the element types do");
  }
};

/// The stretches in which the storages exist twice.
[[nodiscard]] std::vector<Gap> gaps_of_duplicate(const TraceData& data, const Duplicate& duplicate);

}  // namespace dcmt::analyzer
