// A comparison of ranks in rows: what ranks have in common is one row, whatever their number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/ranks/rank_comparison.h"

namespace dcmt::analyzer {

/// What a rank says of a device, or of itself where it has none.
struct RankRow {
  /// What belongs to the rank; said with its first device only.
  struct OfRank {
    std::int64_t residual_keys = 0;
    Bytes residual_bytes;
    std::int64_t final_releases = 0, gathers = 0, steps = 0;
    friend bool operator==(const OfRank&, const OfRank&) = default;
  };
  struct OfDevice {
    Bytes peak;
    std::optional<std::int64_t> step;
    Bytes predicted;
    friend bool operator==(const OfDevice&, const OfDevice&) = default;
  };

  std::string device_kind;  ///< "cpu", "cuda"; empty: nothing was allocated
  std::optional<OfDevice> device;
  std::optional<OfRank> rank;
  Ranks ranks;
  std::vector<std::int64_t> device_numbers;
  std::optional<std::pair<Sequence, Sequence>> at;  ///< the first and the last of the peaks
};

[[nodiscard]] std::vector<RankRow> rank_rows(const RankComparison& comparison);

/// Parameters of one graph that differ in the same way.
template <class Difference>
struct AlikeDifferences {
  const Difference* first = nullptr;
  std::vector<std::int64_t> keys;
};
[[nodiscard]] std::vector<AlikeDifferences<ParameterDifference>> alike_parameters(const RankComparison& comparison);
[[nodiscard]] std::vector<AlikeDifferences<ResidualDifference>> alike_residual(const RankComparison& comparison);

}  // namespace dcmt::analyzer
