#include "analyzer/ranks/rank_comparison.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/ranks/rank_numbers.h"

namespace dcmt::analyzer {
namespace {

bool took_part(const RankFacts& facts) { return facts.steps_ended > 0 || !facts.parameters.empty(); }

/// Keeps one trace for each rank of the run.
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

/// WORLD_SIZE is a number from the environment: more ranks than this are not listed individually.
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

/// The findings of all ranks, each once. In the order of ranks; findings with a certain holder come first, so that one
/// without a holder stands for all that it may equal.
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
