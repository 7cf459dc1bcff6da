// Compares the traces of a run's ranks: finds differences that should not exist.
//
// The comparison goes step by step, among the ranks that have all rows of the step. Some graph numbers are addresses
// (DeepSpeed's), or no other rank has them. Such numbers are replaced by the order in which the rank first gathered
// from its graphs. Parameters that functions of a framework name are matched by their names, whatever their numbers.
// Memory and findings are compared, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/ranks/rank_facts.h"
#include "analyzer/ranks/rank_gathers.h"
#include "trace/base/status.h"

namespace dcmt::analyzer {

/// The result of a parameter's releases on a rank, over the whole run.
enum class Fate {
  kResidual,     ///< a final release left bytes
  kFreed,        ///< released finally, and no release left bytes
  kPersistent,   ///< kept on purpose
  kNotReleased,  ///< gathered, but never finally released
  kNotGathered,
};

/// A parameter that is residual on some ranks and not on others.
struct ResidualDifference {
  struct Side {
    Ranks ranks;
    Fate fate = Fate::kNotGathered;
    Bytes bytes;  ///< kResidual: bytes that a release left; the maximum of these ranks
    friend bool operator==(const Side&, const Side&) = default;

    static constexpr std::string_view kShape = "residual_side";
    static void describe(auto&& field) {
      field("ranks", &Side::ranks, "");
      field("fate", &Side::fate,
            "of the parameter on them: \"residual\", \"freed\", \"persistent\", \"not_released\", \"not_gathered\"");
      field(
          "bytes",
          [](const Side& side) { return side.fate == Fate::kResidual ? std::optional(side.bytes) : std::nullopt; },
          "that one of its releases left; null: not residual");
    }
  };

  Key key;
  std::vector<Side> sides;

  static constexpr std::string_view kShape = "residual_difference";
  static void describe(auto&& field) {
    field("key", &ResidualDifference::key, "");
    field("sides", &ResidualDifference::sides, "");
  }
};

/// A finding that some ranks have and others do not.
struct FindingDifference {
  std::string title, place;        ///< place: of the finding on the first rank that has it
  std::vector<BytesOfRanks> with;  ///< most bytes first
  Ranks without;

  static constexpr std::string_view kShape = "finding_difference";
  static void describe(auto&& field) {
    field("title", &FindingDifference::title, "");
    field("place", &FindingDifference::place,
          "of the release, else of the gather, else where most of what grows was made; empty: none is known");
    field("with", &FindingDifference::with, "ranks that have it, with its bytes");
    field("without", &FindingDifference::without, "ranks");
  }
};

/// A rank's own numbers of the graphs that are matched by their order.
struct RankGraphs {
  std::int64_t rank = 0;
  std::vector<std::int64_t> numbers;

  static constexpr std::string_view kShape = "rank_graphs";
  static void describe(auto&& field) {
    field("rank", &RankGraphs::rank, "");
    field("numbers", &RankGraphs::numbers,
          "the rank's own number of graph 0, 1, ..., in the order in which it first gathered from them");
  }
};

/// The mechanism behind a graph, for functions that gather.
struct Mechanism {
  std::int64_t graph = 0;
  std::string name;

  static constexpr std::string_view kShape = "mechanism";
  static void describe(auto&& field) {
    field("graph", &Mechanism::graph, "in keys");
    field("name", &Mechanism::name, "\"FSDP2\", \"ZeRO-3\"");
  }
};

struct ParameterName {
  Key key;
  std::string name;

  static constexpr std::string_view kShape = "parameter_name";
  static void describe(auto&& field) {
    field("key", &ParameterName::key, "");
    field("name", &ParameterName::name, "\"layers.0.weight\"");
  }
};

struct RankComparison {
  std::vector<RankFacts> ranks;       ///< by rank; their keys use the numbers below
  std::int64_t world_size = -1;       ///< -1: the traces do not say
  Ranks missing;                      ///< ranks of the run that have no trace
  std::vector<std::string> left_out;  ///< traces without a rank, or without work beside another one of the rank

  /// Numbers in keys that stand for the first, second, ... graph that a rank gathered from. Empty: all numbers are
  /// common to the ranks.
  std::vector<std::int64_t> graphs_by_order;
  std::vector<std::vector<std::int64_t>> graphs;   ///< by rank, its own numbers of these graphs; empty: none
  std::map<std::int64_t, std::string> mechanisms;  ///< by graph, over all ranks: "FSDP2"
  std::map<Key, std::string> names;                ///< over all ranks
  std::size_t keys_without_graph = 0;  ///< left out of the residual comparison: their graph has no gather with rows

  std::vector<std::int64_t> steps;  ///< the compared steps: at least two ranks have all rows of them
  std::int64_t ended = 0;           ///< compared steps that ended on some rank
  Ranks lacking;                    ///< ranks that lack rows of some of these steps
  bool has_steps = false;           ///< false: no trace has steps; step 0 stands for the whole trace

  std::optional<GatherDivergence> order;
  std::vector<ParameterDifference> parameters;  ///< by key
  std::vector<ResidualDifference> residual;     ///< by key
  std::vector<FindingDifference> findings;
  std::optional<MemoryDifference> memory;
  std::vector<LastGather> ends;  ///< the farthest first; one entry: all ranks got equally far

  [[nodiscard]] bool differs() const {
    return order || memory || !parameters.empty() || !residual.empty() || !findings.empty();
  }
  /// True if some rank gathered a parameter.
  [[nodiscard]] bool gathered() const;
  /// The ranks that lost records.
  [[nodiscard]] Ranks lossy() const;
  /// Number of steps that some rank ended.
  [[nodiscard]] std::int64_t steps_ended() const;

  /// "graph 0"; "graph #1" if graphs are matched by their order; "FSDP2".
  [[nodiscard]] std::string graph_name(std::int64_t graph) const;
  /// Empty if the key has no name.
  [[nodiscard]] std::string key_name(const Key& key) const;
  /// Empty unless all keys have names.
  [[nodiscard]] std::vector<std::string> key_names(std::int64_t graph, const std::vector<std::int64_t>& keys) const;

  [[nodiscard]] std::vector<RankGraphs> graph_list() const;
  [[nodiscard]] std::vector<Mechanism> mechanism_list() const;
  [[nodiscard]] std::vector<ParameterName> name_list() const;

  static constexpr std::string_view kShape = "show ranks";
  static void describe(auto&& field) {
    field("differs", &RankComparison::differs,
          "one of `gather_order`, `parameters`, `residual`, `findings` and `memory` has something to say");
    field("world_size", &RankComparison::world_size, "-1: the traces do not say");
    field("missing_ranks", &RankComparison::missing, "of the run, without a trace");
    field("left_out", &RankComparison::left_out,
          "paths of traces whose process has no rank, or took no part beside one of the same rank that did");
    field("ranks", &RankComparison::ranks, "by rank");
    field("graphs", &RankComparison::graph_list,
          "the ranks' own numbers of graphs that are known by their order; empty: there are none");
    field("graphs_by_order", &RankComparison::graphs_by_order,
          "the numbers of these graphs in keys, in the order of `graphs`; all others are common to the ranks");
    field("mechanisms", &RankComparison::mechanism_list, "of functions that gather: their keys' graphs are below 0");
    field("names", &RankComparison::name_list,
          "of parameters that such functions name; a name has one key on all ranks");
    field("keys_without_graph", &RankComparison::keys_without_graph,
          "parameters of ranks that are not compared, because no gather of their graph has its row");
    field("has_steps", &RankComparison::has_steps, "false: no trace has a step, and 0 stands for the whole of them");
    field("steps", &RankComparison::steps, "compared: two ranks have all rows of it at least");
    field("lacking_ranks", &RankComparison::lacking, "that have not all rows of all these steps");
    field("gather_order", &RankComparison::order, "the first gather that differs");
    field("parameters", &RankComparison::parameters, "by key");
    field("residual", &RankComparison::residual, "by key");
    field("findings", &RankComparison::findings, "that some ranks have and others not");
    field("memory", &RankComparison::memory,
          "null: peaks and growth differ by less than 1 MiB or a twentieth of the highest peak");
    field("last_gathers", &RankComparison::ends,
          "where the traces end, the farthest first; one entry: all at the same gather");
  }
};

/// Fails with kNotComparable if the traces are not of one run: no process has a rank, two working processes have the
/// same rank, or world sizes differ.
[[nodiscard]] Expected<RankComparison> compare_ranks(std::vector<RankFacts> ranks);

[[nodiscard]] std::string_view name_of(Fate fate);

}  // namespace dcmt::analyzer
