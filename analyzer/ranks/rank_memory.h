// What ranks of a run have allocated, beside each other: peaks, what they consist of, growth from step to step.
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

/// One rank's memory on its first device, with texts of its own. Small: heights are kept where they change.
struct RankMemory {
  struct Place {
    std::string site;  ///< of allocations: "train.py:9 main"
    Bytes at_peak;
    std::optional<std::string> holder;  ///< of most of these, as far as it was read
    std::vector<std::pair<std::int64_t, Bytes>> at_ends;  ///< by step number: from its end on so many bytes
  };

  std::int64_t rank = -1;
  Bytes peak;
  std::vector<std::int64_t> steps;  ///< that ended and have all their rows
  std::vector<Bytes> ends;          ///< allocated at the ends of these
  std::vector<Place> places;        ///< by site
};

[[nodiscard]] RankMemory rank_memory(const Analysis& analysis);

/// Ranks that have equally many bytes.
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
    std::int64_t bytes_a_step = 0;  ///< of the bytes allocated at the ends of steps; below 0: they shrink

    static constexpr std::string_view kShape = "memory_growth";
    static void describe(auto&& field) {
      field("ranks", &Growth::ranks, "");
      field("bytes_a_step", &Growth::bytes_a_step, "");
    }
  };
  struct Place {
    std::string site;
    std::vector<BytesOfRanks> sides;        ///< at the peaks, most bytes first
    std::optional<std::string> holder;      ///< of most of it, on the first of the ranks that have most
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
  std::vector<Growth> growth;        ///< most first; empty: fewer than two steps are common to the ranks
  std::int64_t first = 0, last = 0;  ///< these steps
  std::vector<Place> places;         ///< the one that differs most first; a few

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

/// nullopt if the peaks differ by less than 1 MiB or a twentieth of the highest, and so does what the ranks gained from
/// the first to the last step in common: batches need not be equal on all ranks.
[[nodiscard]] std::optional<MemoryDifference> compare_memory(const std::vector<const RankMemory*>& ranks);

/// The peaks; those that differ by less than that are one, as high as the highest of them.
[[nodiscard]] std::vector<BytesOfRanks> peaks_apart(const MemoryDifference& memory);

}  // namespace dcmt::analyzer
