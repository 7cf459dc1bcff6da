// A comparison of ranks in rows. What several ranks have in common is one row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/ranks/rank_comparison.h"

namespace dcmt::analyzer {

/// A row for one device of a rank, or for a rank without devices.
struct RankRow {
  /// Facts of the rank as a whole; only in the row of its first device.
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
  std::optional<std::pair<Sequence, Sequence>> at;  ///< sequences of the first and the last peak
};

[[nodiscard]] std::vector<RankRow> rank_rows(const RankComparison& comparison);

/// Parameters of one graph that have the same difference.
template <class Difference>
struct AlikeDifferences {
  const Difference* first = nullptr;
  std::vector<std::int64_t> keys;
};
[[nodiscard]] std::vector<AlikeDifferences<ParameterDifference>> alike_parameters(const RankComparison& comparison);
[[nodiscard]] std::vector<AlikeDifferences<ResidualDifference>> alike_residual(const RankComparison& comparison);

}  // namespace dcmt::analyzer
