// The traces of a run's ranks read together: what differs that should not.
//
// Compared by step, among the ranks that have all rows of the step. Graph numbers that are addresses (DeepSpeed's), or
// of which no rank has one in common with the others, are replaced by the order in which the rank first gathered from
// its graphs. Parameters that a framework's functions name are the same where their names are, whatever number a rank
// gave them. Memory, too, is compared, and findings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/ranks/rank_facts.h"
#include "trace/base/status.h"

namespace dcmt::analyzer {

/// The first gather at which the ranks part: from there on their collectives do not match, and a run may hang.
struct GatherDivergence {
  struct Branch {
    Ranks ranks;
    std::optional<Key> key;  ///< nullopt: the step ended without a further gather
    GatherPlace place;       ///< on the first of these ranks
    Sequence at;             ///< the same
    std::vector<Key> next;   ///< what the first of them gathered after it in the step, a few
  };

  std::int64_t step = 0;
  std::size_t position = 0;   ///< from 0, in the step
  std::optional<Key> before;  ///< the last gather in common; nullopt: there is none in this step
  std::vector<Branch> branches;
  std::vector<std::int64_t> steps;  ///< all that differ, this one first
};

/// A parameter whose gathered bytes, declared uses or persistence are not the same on all ranks.
struct ParameterDifference {
  struct Side {
    Ranks ranks;
    std::optional<Bytes> bytes;
    std::optional<std::int64_t> declared;
    std::optional<bool> persistent;
  };

  Key key;
  std::int64_t step = 0;  ///< the first that differs
  std::vector<Side> sides;
};

/// What became of a parameter on a rank, over the whole run.
enum class Fate {
  kResidual,     ///< a final release left bytes
  kFreed,        ///< finally released, and no release left bytes
  kPersistent,   ///< kept on purpose
  kNotReleased,  ///< gathered, without a final release
  kNotGathered,
};

/// A parameter that is residual on some ranks and not on others.
struct ResidualDifference {
  struct Side {
    Ranks ranks;
    Fate fate = Fate::kNotGathered;
    Bytes bytes;  ///< kResidual: that a release left, the most of these ranks
  };

  Key key;
  std::vector<Side> sides;
};

/// A finding that some ranks have and others not.
struct FindingDifference {
  std::string title, place;        ///< place: on the first rank that has it
  std::vector<BytesOfRanks> with;  ///< most bytes first
  Ranks without;
};

/// How far ranks came: the last gather of their traces.
struct LastGather {
  Ranks ranks;
  std::optional<std::int64_t> step;  ///< nullopt: they gathered nothing
  std::size_t position = 0;          ///< from 0, in the step
  Key key;
};

struct RankComparison {
  std::vector<RankFacts> ranks;       ///< by rank; graphs of keys as below
  std::int64_t world_size = -1;       ///< -1: the traces do not say
  Ranks missing;                      ///< ranks of the run without a trace
  std::vector<std::string> left_out;  ///< traces of processes that are no rank, or took no part beside one that did

  /// Numbers in keys that stand for the first, second, ... graph that a rank gathered from; empty: all numbers are
  /// common.
  std::vector<std::int64_t> graphs_by_order;
  std::vector<std::vector<std::int64_t>> graphs;   ///< by rank, its own numbers of these; empty if there are none
  std::map<std::int64_t, std::string> mechanisms;  ///< by graph, of all ranks: "FSDP2"
  std::map<Key, std::string> names;                ///< of all ranks
  std::size_t keys_without_graph = 0;  ///< of the residual comparison, left out: their graph has no gather with rows

  std::vector<std::int64_t> steps;  ///< compared: at least two ranks have all their rows
  std::int64_t ended = 0;           ///< of these, how many some rank ended
  Ranks lacking;                    ///< ranks that have not all of them
  bool has_steps = false;           ///< false: no trace has one, and step 0 is the whole of them

  std::optional<GatherDivergence> order;
  std::vector<ParameterDifference> parameters;  ///< by key
  std::vector<ResidualDifference> residual;     ///< by key
  std::vector<FindingDifference> findings;
  std::optional<MemoryDifference> memory;
  std::vector<LastGather> ends;  ///< the farthest first; one: all ranks came equally far

  [[nodiscard]] bool differs() const {
    return order || memory || !parameters.empty() || !residual.empty() || !findings.empty();
  }
};

/// Fails with kNotComparable if the traces are not those of one run: no process has a rank, two of one rank took part,
/// or world sizes differ.
[[nodiscard]] Expected<RankComparison> compare_ranks(std::vector<RankFacts> ranks);

[[nodiscard]] std::string_view name_of(Fate fate);

}  // namespace dcmt::analyzer
