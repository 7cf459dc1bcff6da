#include "analyzer/ranks/rank_comparison.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/ranks/rank_numbers.h"

namespace dcmt::analyzer {
namespace {

/// Keys shown of what comes after a divergence.
constexpr std::size_t kNextKeys = 3;

bool took_part(const RankFacts& facts) { return facts.steps_ended > 0 || !facts.parameters.empty(); }

/// Leaves the traces of one run's ranks, one each.
Status keep_ranks(RankComparison& result) {
  std::vector<RankFacts>& ranks = result.ranks;
  std::stable_sort(ranks.begin(), ranks.end(), [](const RankFacts& a, const RankFacts& b) {
    return std::pair(a.rank, !took_part(a)) < std::pair(b.rank, !took_part(b));
  });
  std::vector<RankFacts> kept;
  for (RankFacts& facts : ranks) {
    const bool second = !kept.empty() && kept.back().rank == facts.rank;
    if (second && took_part(facts)) {
      return {ErrorCode::kNotComparable, kept.back().path + " and " + facts.path + ": two traces of rank " +
                                             std::to_string(facts.rank) + ". Name one trace of each rank of one run."};
    }
    if (facts.rank < 0 || second) {
      result.left_out.push_back(facts.path);
    } else {
      kept.push_back(std::move(facts));
    }
  }
  if (kept.empty()) {
    return {ErrorCode::kNotComparable,
            result.left_out.front() + ": no trace of a rank: RANK and WORLD_SIZE were not set in the program."};
  }
  ranks = std::move(kept);
  for (const RankFacts& facts : ranks) {
    if (facts.world_size == ranks.front().world_size) continue;
    return {ErrorCode::kNotComparable,
            ranks.front().path + " and " + facts.path + ": of runs of " + std::to_string(ranks.front().world_size) +
                " and of " + std::to_string(facts.world_size) + " ranks. Name one trace of each rank of one run."};
  }
  result.world_size = ranks.front().world_size;
  return {};
}

/// WORLD_SIZE is a number of the environment: so many ranks are not listed one by one.
constexpr std::int64_t kMostRanks = 100'000;

Ranks missing_ranks(const RankComparison& result) {
  std::set<std::int64_t> present;
  for (const RankFacts& facts : result.ranks) present.insert(facts.rank);
  Ranks missing;
  for (std::int64_t rank = 0; rank < std::min(result.world_size, kMostRanks); ++rank) {
    if (!present.contains(rank)) missing.push_back(rank);
  }
  return missing;
}

/// A step on the ranks that have it.
struct StepOfRanks {
  struct Part {
    const RankFacts* facts;
    const RankStep* step;
  };
  std::int64_t number = 0;
  std::vector<Part> parts;
};

/// In order of steps, those that two ranks have at least.
std::vector<StepOfRanks> steps_in_common(const std::vector<RankFacts>& ranks) {
  std::optional<std::int64_t> first;
  for (const RankFacts& facts : ranks) {
    if (facts.first_step) first = std::min(first.value_or(*facts.first_step), *facts.first_step);
  }
  std::map<std::int64_t, StepOfRanks> steps;
  for (const RankFacts& facts : ranks) {
    for (const RankStep& step : facts.steps) {
      // A trace without a step is in the first one.
      const std::int64_t number = step.number.value_or(first.value_or(0));
      steps[number].number = number;
      steps[number].parts.push_back({&facts, &step});
    }
  }
  std::vector<StepOfRanks> common;
  for (auto& [number, step] : steps) {
    if (step.parts.size() > 1) common.push_back(std::move(step));
  }
  return common;
}

GatherDivergence::Branch branch_of(const StepOfRanks::Part& part, std::size_t position) {
  GatherDivergence::Branch branch;
  const std::vector<RankGather>& gathers = part.step->gathers;
  if (position >= gathers.size()) return branch;
  const RankGather& gather = gathers[position];
  branch.key = gather.key;
  branch.place = part.facts->places[gather.place];
  branch.at = gather.at;
  for (std::size_t i = position + 1; i < gathers.size() && branch.next.size() < kNextKeys; ++i) {
    branch.next.push_back(gathers[i].key);
  }
  return branch;
}

/// The first position at which the ranks gather different parameters. A trace that ends within the step says nothing of
/// what would have come.
std::optional<GatherDivergence> divergence_in(const StepOfRanks& step) {
  std::size_t longest = 0;
  for (const StepOfRanks::Part& part : step.parts) longest = std::max(longest, part.step->gathers.size());
  std::optional<Key> before;
  for (std::size_t position = 0; position < longest; ++position) {
    std::optional<std::optional<Key>> first;
    bool differs = false;
    for (const auto& [facts, own] : step.parts) {
      if (position >= own->gathers.size() && !own->ended) continue;
      const std::optional<Key> key =
          position < own->gathers.size() ? std::optional(own->gathers[position].key) : std::nullopt;
      differs = differs || (first && *first != key);
      if (!first) first = key;
    }
    if (!differs) {
      before = *first;
      continue;
    }
    GatherDivergence divergence;
    divergence.step = step.number;
    divergence.position = position;
    divergence.before = before;
    divergence.steps = {step.number};
    for (const StepOfRanks::Part& part : step.parts) {
      if (position >= part.step->gathers.size() && !part.step->ended) continue;
      GatherDivergence::Branch branch = branch_of(part, position);
      const auto alike = std::find_if(divergence.branches.begin(), divergence.branches.end(),
                                      [&](const GatherDivergence::Branch& other) { return other.key == branch.key; });
      GatherDivergence::Branch& of_key =
          alike != divergence.branches.end() ? *alike : divergence.branches.emplace_back(std::move(branch));
      of_key.ranks.push_back(part.facts->rank);
    }
    return divergence;
  }
  return std::nullopt;
}

std::optional<GatherDivergence> compare_order(const std::vector<StepOfRanks>& steps) {
  std::optional<GatherDivergence> first;
  for (const StepOfRanks& step : steps) {
    std::optional<GatherDivergence> found = divergence_in(step);
    if (!found) continue;
    if (first) {
      first->steps.push_back(step.number);
    } else {
      first = std::move(found);
    }
  }
  return first;
}

/// True if two of the sides contradict each other in a field that both know.
template <class Field>
bool contradict(const std::vector<ParameterDifference::Side>& sides, Field field) {
  const auto known =
      std::find_if(sides.begin(), sides.end(), [&](const auto& side) { return (side.*field).has_value(); });
  return std::any_of(known, sides.end(),
                     [&](const auto& side) { return (side.*field).has_value() && side.*field != (*known).*field; });
}

std::vector<ParameterDifference> compare_parameters(const std::vector<StepOfRanks>& steps) {
  using Side = ParameterDifference::Side;
  std::map<Key, ParameterDifference> differences;
  for (const StepOfRanks& step : steps) {
    // The n-th gather of a key on one rank with the n-th of it on the others.
    std::map<std::pair<Key, std::size_t>, std::vector<Side>> sides_of;
    for (const auto& [facts, own] : step.parts) {
      std::map<Key, std::size_t> gathers;
      for (const RankGather& gather : own->gathers) {
        std::vector<Side>& sides = sides_of[{gather.key, gathers[gather.key]++}];
        const auto alike = std::find_if(sides.begin(), sides.end(), [&](const Side& side) {
          return std::tie(side.bytes, side.declared, side.persistent) ==
                 std::tie(gather.bytes, gather.declared, gather.persistent);
        });
        Side& side = alike != sides.end()
                         ? *alike
                         : sides.emplace_back(Side{{}, gather.bytes, gather.declared, gather.persistent});
        side.ranks.push_back(facts->rank);
      }
    }
    for (auto& [of, sides] : sides_of) {
      const Key key = of.first;
      if (!contradict(sides, &Side::bytes) && !contradict(sides, &Side::declared) &&
          !contradict(sides, &Side::persistent)) {
        continue;
      }
      differences.try_emplace(key, ParameterDifference{key, step.number, std::move(sides)});
    }
  }
  std::vector<ParameterDifference> list;
  list.reserve(differences.size());
  for (auto& [key, difference] : differences) list.push_back(std::move(difference));
  return list;
}

Fate fate_of(const RankParameter& parameter) {
  if (parameter.residual > 0) return Fate::kResidual;
  if (parameter.final_releases > 0) return Fate::kFreed;
  if (parameter.persistent) return Fate::kPersistent;
  return parameter.gathers > 0 ? Fate::kNotReleased : Fate::kNotGathered;
}

std::vector<ResidualDifference> compare_residual(const std::vector<RankFacts>& ranks) {
  std::set<Key> keys;
  for (const RankFacts& facts : ranks) {
    for (const auto& [key, parameter] : facts.parameters) {
      if (parameter.residual > 0) keys.insert(key);
    }
  }
  std::vector<ResidualDifference> differences;
  for (const Key& key : keys) {
    std::map<Fate, ResidualDifference::Side> sides;
    for (const RankFacts& facts : ranks) {
      const auto found = facts.parameters.find(key);
      const RankParameter parameter = found != facts.parameters.end() ? found->second : RankParameter();
      ResidualDifference::Side& side = sides[fate_of(parameter)];
      side.fate = fate_of(parameter);
      side.ranks.push_back(facts.rank);
      side.bytes = std::max(side.bytes, parameter.residual_bytes);
    }
    if (sides.size() < 2) continue;
    ResidualDifference difference{key, {}};
    for (auto& [fate, side] : sides) difference.sides.push_back(std::move(side));
    differences.push_back(std::move(difference));
  }
  return differences;
}

/// The findings of all ranks, each once: in the order of ranks, those with a certain holder first, so that one without
/// stands for all that it may be.
std::vector<const RankFinding*> distinct_findings(const std::vector<RankFacts>& ranks) {
  std::vector<const RankFinding*> distinct;
  for (const bool with_holder : {true, false}) {
    for (const RankFacts& facts : ranks) {
      for (const RankFinding& finding : facts.findings) {
        if (finding.identity.holder.has_value() != with_holder) continue;
        const bool known = std::any_of(distinct.begin(), distinct.end(), [&](const RankFinding* other) {
          return same_finding(other->identity, finding.identity);
        });
        if (!known) distinct.push_back(&finding);
      }
    }
  }
  return distinct;
}

std::vector<FindingDifference> compare_findings(const std::vector<RankFacts>& ranks) {
  std::vector<FindingDifference> differences;
  for (const RankFinding* finding : distinct_findings(ranks)) {
    std::map<Bytes, Ranks, std::greater<>> with;
    FindingDifference difference{finding->title, finding->place, {}, {}};
    for (const RankFacts& facts : ranks) {
      Bytes bytes;
      bool found = false;
      for (const RankFinding& own : facts.findings) {
        if (!same_finding(own.identity, finding->identity)) continue;
        found = true;
        bytes.value += own.bytes.value;
      }
      (found ? with[bytes] : difference.without).push_back(facts.rank);
    }
    if (difference.without.empty()) continue;
    for (auto& [bytes, numbers] : with) difference.with.push_back({std::move(numbers), bytes});
    differences.push_back(std::move(difference));
  }
  std::sort(differences.begin(), differences.end(), [](const FindingDifference& a, const FindingDifference& b) {
    return std::tie(a.title, a.place) < std::tie(b.title, b.place);
  });
  return differences;
}

LastGather last_gather(const RankFacts& facts) {
  LastGather last;
  last.ranks = {facts.rank};
  for (const RankStep& step : facts.steps) {
    if (step.gathers.empty()) continue;
    last.step = step.number.value_or(0);
    last.position = step.gathers.size() - 1;
    last.key = step.gathers.back().key;
  }
  return last;
}

std::vector<LastGather> compare_ends(const std::vector<RankFacts>& ranks) {
  std::vector<LastGather> ends;
  for (const RankFacts& facts : ranks) {
    const LastGather last = last_gather(facts);
    const auto alike = std::find_if(ends.begin(), ends.end(), [&](const LastGather& other) {
      return std::tie(other.step, other.position) == std::tie(last.step, last.position);
    });
    if (alike != ends.end()) {
      alike->ranks.push_back(facts.rank);
    } else {
      ends.push_back(last);
    }
  }
  std::stable_sort(ends.begin(), ends.end(), [](const LastGather& a, const LastGather& b) {
    return std::tie(a.step, a.position) > std::tie(b.step, b.position);
  });
  return ends;
}

}  // namespace

Expected<RankComparison> compare_ranks(std::vector<RankFacts> ranks) {
  RankComparison result;
  result.ranks = std::move(ranks);
  DCMT_RETURN_IF_ERROR(keep_ranks(result));
  result.missing = missing_ranks(result);
  CommonNumbers numbers = give_common_numbers(result.ranks);
  result.graphs_by_order = std::move(numbers.graphs_by_order);
  result.graphs = std::move(numbers.graphs);
  result.keys_without_graph = numbers.keys_without_graph;
  for (const RankFacts& facts : result.ranks) {
    result.mechanisms.insert(facts.mechanisms.begin(), facts.mechanisms.end());
    result.names.insert(facts.names.begin(), facts.names.end());
  }
  const std::vector<StepOfRanks> steps = steps_in_common(result.ranks);
  std::map<std::int64_t, std::size_t> compared_of;
  for (const StepOfRanks& step : steps) {
    result.steps.push_back(step.number);
    result.ended +=
        std::any_of(step.parts.begin(), step.parts.end(), [](const auto& part) { return part.step->ended; }) ? 1 : 0;
    for (const StepOfRanks::Part& part : step.parts) ++compared_of[part.facts->rank];
  }
  for (const RankFacts& facts : result.ranks) {
    result.has_steps = result.has_steps || facts.first_step.has_value();
    if (compared_of[facts.rank] < steps.size()) result.lacking.push_back(facts.rank);
  }
  result.order = compare_order(steps);
  result.parameters = compare_parameters(steps);
  result.residual = compare_residual(result.ranks);
  result.ends = compare_ends(result.ranks);
  result.findings = compare_findings(result.ranks);
  std::vector<const RankMemory*> memory;
  for (const RankFacts& facts : result.ranks) memory.push_back(&facts.memory);
  result.memory = compare_memory(memory);
  return result;
}

bool RankComparison::gathered() const {
  return std::ranges::any_of(ranks, [](const RankFacts& facts) { return facts.gathers() > 0; });
}

Ranks RankComparison::lossy() const {
  Ranks numbers;
  for (const RankFacts& facts : ranks) {
    if (facts.lost > 0) numbers.push_back(facts.rank);
  }
  return numbers;
}

std::int64_t RankComparison::steps_ended() const {
  std::int64_t most = 0;
  for (const RankFacts& facts : ranks) most = std::max(most, facts.steps_ended);
  return most;
}

std::string RankComparison::graph_name(std::int64_t graph) const {
  if (const auto mechanism = mechanisms.find(graph); mechanism != mechanisms.end()) return mechanism->second;
  const auto at = std::ranges::find(graphs_by_order, graph);
  return at != graphs_by_order.end() ? "graph #" + std::to_string(at - graphs_by_order.begin() + 1)
                                     : "graph " + std::to_string(graph);
}

std::string RankComparison::key_name(const Key& key) const {
  const auto name = names.find(key);
  return name != names.end() ? name->second : std::string();
}

std::vector<std::string> RankComparison::key_names(std::int64_t graph, const std::vector<std::int64_t>& keys) const {
  std::vector<std::string> all;
  for (const std::int64_t key : keys) {
    all.push_back(key_name({graph, key}));
    if (all.back().empty()) return {};
  }
  return all;
}

std::vector<RankGraphs> RankComparison::graph_list() const {
  std::vector<RankGraphs> list;
  for (std::size_t i = 0; i < graphs.size(); ++i) list.push_back({ranks[i].rank, graphs[i]});
  return list;
}

std::vector<Mechanism> RankComparison::mechanism_list() const {
  std::vector<Mechanism> list;
  for (const auto& [graph, name] : mechanisms) list.push_back({graph, name});
  return list;
}

std::vector<ParameterName> RankComparison::name_list() const {
  std::vector<ParameterName> list;
  for (const auto& [key, name] : names) list.push_back({key, name});
  return list;
}

std::string_view name_of(Fate fate) {
  switch (fate) {
    case Fate::kResidual:
      return "residual";
    case Fate::kFreed:
      return "freed";
    case Fate::kPersistent:
      return "persistent";
    case Fate::kNotReleased:
      return "not_released";
    case Fate::kNotGathered:
      return "not_gathered";
  }
  return "";
}

}  // namespace dcmt::analyzer
