// Compares the memory of a run's ranks: peaks, their composition, and growth from step to step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/model/analysis.h"

namespace dcmt::analyzer {

/// Numbers of ranks, ascending.
using Ranks = std::vector<std::int64_t>;

/// The memory of one rank's first device, with its own texts. It is small: bytes are stored only where they change.
struct RankMemory {
  struct Place {
    std::string site;  ///< the place of allocations: "train.py:9 main"
    Bytes at_peak;
    std::optional<std::string> holder;                    ///< the holder of most of these bytes, if it was read
    std::vector<std::pair<std::int64_t, Bytes>> at_ends;  ///< by step number: the bytes from the end of that step on
  };

  std::int64_t rank = -1;
  Bytes peak;
  std::vector<std::int64_t> steps;  ///< steps that ended and have all their rows
  std::vector<Bytes> ends;          ///< allocated bytes at the ends of these steps
  std::vector<Place> places;        ///< by site
};

[[nodiscard]] RankMemory rank_memory(const Analysis& analysis);

/// Ranks that have the same number of bytes.
struct BytesOfRanks {
  Ranks ranks;
  Bytes bytes;

  static constexpr std::string_view kShape = "memory_side";
  static void describe(auto&& field) {
    field("ranks", &BytesOfRanks::ranks, "");
    field("bytes", &BytesOfRanks::bytes, "of each of them");
  }
};

struct MemoryDifference {
  struct Growth {
    Ranks ranks;
    std::int64_t bytes_a_step = 0;  ///< growth of the bytes at ends of steps; negative: they shrink

    static constexpr std::string_view kShape = "memory_growth";
    static void describe(auto&& field) {
      field("ranks", &Growth::ranks, "");
      field("bytes_a_step", &Growth::bytes_a_step, "");
    }
  };
  struct Place {
    std::string site;
    std::vector<BytesOfRanks> sides;        ///< at the peaks, most bytes first
    std::optional<std::string> holder;      ///< the holder of most of it, on the first rank with the most bytes
    std::optional<std::int64_t> from_step;  ///< from its end on the ranks differ; nullopt: only within steps

    static constexpr std::string_view kShape = "memory_place";
    static void describe(auto&& field) {
      field("site", &Place::site, "of the allocations");
      field("from_step", &Place::from_step, "from its end on the ranks differ there; null: only within steps");
      field("sides", &Place::sides, "at the ranks' peaks, most bytes first");
      field("holder", &Place::holder,
            "what holds most of it at the peak, on the first of the ranks that have most; null: not read");
    }
  };

  std::vector<BytesOfRanks> peaks;   ///< most bytes first
  std::vector<Growth> growth;        ///< most first; empty: the ranks have fewer than two common steps
  std::int64_t first = 0, last = 0;  ///< the first and the last common step
  std::vector<Place> places;         ///< a few places, the largest difference first

  static constexpr std::string_view kShape = "memory_difference";
  static void describe(auto&& field) {
    const auto step = [](std::int64_t MemoryDifference::*number) {
      return [number](const MemoryDifference& memory) {
        return memory.growth.empty() ? std::nullopt : std::optional(memory.*number);
      };
    };
    field("peaks", &MemoryDifference::peaks, "the highest first");
    field("first_step", step(&MemoryDifference::first),
          "of `growth`; null: fewer than two steps are common to the ranks");
    field("last_step", step(&MemoryDifference::last), "");
    field("growth", &MemoryDifference::growth, "between the ends of these steps, most first");
    field("places", &MemoryDifference::places, "the one that differs most first; at most 5");
  }
};

/// nullopt if the differences are small: below 1 MiB or a twentieth of the highest peak, for the peaks and for the
/// growth from the first to the last common step. Batches need not be equal on all ranks.
[[nodiscard]] std::optional<MemoryDifference> compare_memory(const std::vector<const RankMemory*>& ranks);

/// The peaks. Those with a small difference, in the same sense, are merged into the highest of them.
[[nodiscard]] std::vector<BytesOfRanks> peaks_apart(const MemoryDifference& memory);

}  // namespace dcmt::analyzer
