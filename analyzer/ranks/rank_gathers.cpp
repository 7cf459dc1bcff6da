#include "analyzer/ranks/rank_gathers.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace dcmt::analyzer {
namespace {

/// The number of keys shown after a divergence.
constexpr std::size_t kNextKeys = 3;

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

/// The first position at which the ranks gather different parameters. A trace that ends within the step does not differ
/// where it has no gathers any more.
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

/// True if two of the sides have different values of a field.
template <class Field>
bool contradict(const std::vector<ParameterDifference::Side>& sides, Field field) {
  const auto known =
      std::find_if(sides.begin(), sides.end(), [&](const auto& side) { return (side.*field).has_value(); });
  return std::any_of(known, sides.end(),
                     [&](const auto& side) { return (side.*field).has_value() && side.*field != (*known).*field; });
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

}  // namespace

std::vector<StepOfRanks> steps_in_common(const std::vector<RankFacts>& ranks) {
  std::optional<std::int64_t> first;
  for (const RankFacts& facts : ranks) {
    if (facts.first_step) first = std::min(first.value_or(*facts.first_step), *facts.first_step);
  }
  std::map<std::int64_t, StepOfRanks> steps;
  for (const RankFacts& facts : ranks) {
    for (const RankStep& step : facts.steps) {
      // A trace without steps counts as the first step.
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

std::vector<ParameterDifference> compare_parameters(const std::vector<StepOfRanks>& steps) {
  using Side = ParameterDifference::Side;
  std::map<Key, ParameterDifference> differences;
  for (const StepOfRanks& step : steps) {
    // The n-th gather of a key on one rank is compared with the n-th on the others.
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

}  // namespace dcmt::analyzer
