// The gathers of ranks, step by step: their order, their bytes and uses, and the last one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/ranks/rank_facts.h"

namespace dcmt::analyzer {

/// The first gather at which the ranks differ. From there on their collectives do not match, and the run may hang.
struct GatherDivergence {
  struct Branch {
    Ranks ranks;
    std::optional<Key> key;  ///< nullopt: the step ended without another gather
    GatherPlace place;       ///< on the first of these ranks
    Sequence at;             ///< its sequence on the same rank
    std::vector<Key> next;   ///< the next few gathers of that rank in the step

    static constexpr std::string_view kShape = "gather_branch";
    static void describe(auto&& field) {
      field("ranks", &Branch::ranks, "");
      field("key", &Branch::key, "null: the step ends without a further gather");
      field(
          "operator", [](const Branch& branch) { return branch.place.operator_name; },
          "on the first of these ranks, like the next two");
      field(
          "site", [](const Branch& branch) { return branch.place.site; }, "");
      field(
          "at_seq", [](const Branch& branch) { return model::given(branch.at); }, "");
      field("next", &Branch::next, "the next gathers of the step, three at most");
    }
  };

  std::int64_t step = 0;
  std::size_t position = 0;   ///< index of the gather in the step, from 0
  std::optional<Key> before;  ///< the last common gather; nullopt: the step has none
  std::vector<Branch> branches;
  std::vector<std::int64_t> steps;  ///< all steps that differ, this one first

  static constexpr std::string_view kShape = "gather_divergence";
  static void describe(auto&& field) {
    field("step", &GatherDivergence::step, "");
    field("position", &GatherDivergence::position, "of the gather in the step, from 0");
    field("before", &GatherDivergence::before, "the gather before it, on all ranks; null: it is the first of the step");
    field("branches", &GatherDivergence::branches, "ranks that gather the same there");
    field("steps", &GatherDivergence::steps, "all in which the order differs");
  }
};

/// A parameter whose gathered bytes, declared uses or persistence differ between ranks.
struct ParameterDifference {
  struct Side {
    Ranks ranks;
    std::optional<Bytes> bytes;
    std::optional<std::int64_t> declared;
    std::optional<bool> persistent;
    friend bool operator==(const Side&, const Side&) = default;

    static constexpr std::string_view kShape = "parameter_side";
    static void describe(auto&& field) {
      field("ranks", &Side::ranks, "");
      field("gathered_bytes", &Side::bytes, "of the gathered storage, padding included");
      field("uses", &Side::declared, "declared");
      field("persistent", &Side::persistent, "null: not in the trace");
    }
  };

  Key key;
  std::int64_t step = 0;  ///< the first step that differs
  std::vector<Side> sides;

  static constexpr std::string_view kShape = "parameter_difference";
  static void describe(auto&& field) {
    field("key", &ParameterDifference::key, "");
    field("step", &ParameterDifference::step, "the first in which it differs");
    field("sides", &ParameterDifference::sides, "");
  }
};

/// How far ranks got: the last gather in their traces.
struct LastGather {
  Ranks ranks;
  std::optional<std::int64_t> step;  ///< nullopt: these ranks gathered nothing
  std::size_t position = 0;          ///< index in the step, from 0
  Key key;

  static constexpr std::string_view kShape = "last_gather";
  static void describe(auto&& field) {
    field("ranks", &LastGather::ranks, "");
    field("step", &LastGather::step, "null: they gathered nothing");
    field(
        "position", [](const LastGather& end) { return end.step ? std::optional(end.position) : std::nullopt; },
        "in the step, from 0");
    field(
        "key", [](const LastGather& end) { return end.step ? std::optional(end.key) : std::nullopt; }, "");
  }
};

/// One step, with the ranks that have it.
struct StepOfRanks {
  struct Part {
    const RankFacts* facts;
    const RankStep* step;
  };
  std::int64_t number = 0;
  std::vector<Part> parts;
};

/// The steps that at least two ranks have, in order.
[[nodiscard]] std::vector<StepOfRanks> steps_in_common(const std::vector<RankFacts>& ranks);

/// The first position at which ranks gather different parameters, and all steps in which the order differs.
[[nodiscard]] std::optional<GatherDivergence> compare_order(const std::vector<StepOfRanks>& steps);

[[nodiscard]] std::vector<ParameterDifference> compare_parameters(const std::vector<StepOfRanks>& steps);

/// The last gathers of the ranks, the latest first.
[[nodiscard]] std::vector<LastGather> compare_ends(const std::vector<RankFacts>& ranks);

}  // namespace dcmt::analyzer
