#include "analyzer/ranks/rank_numbers.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "trace/base/graph_number.h"

namespace dcmt::analyzer {
namespace {

/// Graphs below 0 are mechanisms with functions that gather. All ranks have them in common; they say nothing of others.
bool is_mechanism(std::int64_t graph) { return graph < 0; }

/// A parameter by its name. Equal names on one rank (two models) are distinguished by their order.
struct NamedKey {
  std::int64_t graph;
  std::string name;
  std::size_t place;
  friend auto operator<=>(const NamedKey&, const NamedKey&) = default;  // NOLINT(modernize-use-nullptr)
};

/// Unused numbers, in order. A trace may contain any number: the largest one plus 1 may not exist.
class UnusedNumbers {
 public:
  void use(std::int64_t number) { used_.insert(number); }
  std::int64_t next() {
    while (used_.contains(next_)) ++next_;
    return next_++;
  }

 private:
  std::set<std::int64_t> used_;
  std::int64_t next_ = 0;
};

/// Each rank numbers the parameters of functions as they come. Here, each name gets one number for all ranks.
class NumbersByName {
 public:
  explicit NumbersByName(const std::vector<RankFacts>& ranks) {
    for (const RankFacts& facts : ranks) {
      for (const auto& [key, parameter] : facts.parameters) unused_.use(key.key);
      for (const auto& [key, name] : facts.names) unused_.use(key.key);
    }
  }

  void renumber(RankFacts& facts) {
    std::map<Key, Key> number_of;
    std::map<std::pair<std::int64_t, std::string>, std::size_t> places;
    std::map<Key, std::string> names;
    for (const auto& [key, name] : facts.names) {
      const NamedKey named{key.graph, name, places[{key.graph, name}]++};
      auto known = numbers_.find(named);
      if (known == numbers_.end()) {
        const std::int64_t number = assigned_.insert(key).second ? key.key : unused_.next();
        known = numbers_.emplace(named, number).first;
      }
      number_of[key] = {key.graph, known->second};
      names.emplace(number_of[key], name);
    }
    const auto renumbered = [&](Key key) {
      const auto found = number_of.find(key);
      return found != number_of.end() ? found->second : key;
    };
    for (RankStep& step : facts.steps) {
      for (RankGather& gather : step.gathers) gather.key = renumbered(gather.key);
    }
    std::map<Key, RankParameter> parameters;
    for (const auto& [key, parameter] : facts.parameters) parameters.emplace(renumbered(key), parameter);
    facts.parameters = std::move(parameters);
    facts.names = std::move(names);
  }

 private:
  std::map<NamedKey, std::int64_t> numbers_;
  std::set<Key> assigned_;
  UnusedNumbers unused_;
};

/// Graphs that have the same number on all ranks. Others are matched by their order: graphs with addresses as numbers,
/// or all graphs if the ranks have no number in common.
class CommonGraphs {
 public:
  explicit CommonGraphs(const std::vector<RankFacts>& ranks) {
    std::optional<std::set<std::int64_t>> common;
    for (const RankFacts& facts : ranks) {
      std::set<std::int64_t> own;
      for (const auto& [key, parameter] : facts.parameters) {
        if (!is_mechanism(key.graph)) own.insert(key.graph);
      }
      if (own.empty()) continue;
      for (const std::int64_t graph : own) unused_.use(graph);
      if (!common) {
        common = std::move(own);
      } else {
        std::erase_if(*common, [&](std::int64_t graph) { return !own.contains(graph); });
      }
    }
    if (common) common_ = std::move(*common);
    if (common_.empty()) unused_ = {};  // then all graphs get numbers by their order
  }

  [[nodiscard]] bool has(std::int64_t graph) const {
    return is_mechanism(graph) || common_.contains(graph) || (!common_.empty() && !is_address_of_graph(graph));
  }

  /// The number for the `order`-th graph of each rank. No rank uses it otherwise.
  [[nodiscard]] std::int64_t number(std::size_t order) {
    while (numbers_.size() <= order) numbers_.push_back(unused_.next());
    return numbers_[order];
  }
  [[nodiscard]] const std::vector<std::int64_t>& numbers() const { return numbers_; }

 private:
  std::set<std::int64_t> common_;
  std::vector<std::int64_t> numbers_;
  UnusedNumbers unused_;
};

/// Renumbers a rank's graphs that are matched by their order; returns their original numbers.
std::vector<std::int64_t> number_graphs(RankFacts& facts, CommonGraphs& graphs, std::size_t& keys_without_graph) {
  std::map<std::int64_t, std::int64_t> numbers;
  std::vector<std::int64_t> own;
  for (RankStep& step : facts.steps) {
    for (RankGather& gather : step.gathers) {
      if (graphs.has(gather.key.graph)) continue;
      auto at = numbers.find(gather.key.graph);
      if (at == numbers.end()) {
        at = numbers.emplace(gather.key.graph, graphs.number(own.size())).first;
        own.push_back(gather.key.graph);
      }
      gather.key.graph = at->second;
    }
  }
  std::map<Key, RankParameter> parameters;
  for (const auto& [key, parameter] : facts.parameters) {
    if (graphs.has(key.graph)) {
      parameters[key] = parameter;
    } else if (const auto number = numbers.find(key.graph); number != numbers.end()) {
      parameters[{number->second, key.key}] = parameter;
    } else {
      ++keys_without_graph;
    }
  }
  facts.parameters = std::move(parameters);
  return own;
}

}  // namespace

CommonNumbers give_common_numbers(std::vector<RankFacts>& ranks) {
  CommonNumbers result;
  NumbersByName by_name(ranks);
  for (RankFacts& facts : ranks) by_name.renumber(facts);
  CommonGraphs graphs(ranks);
  for (RankFacts& facts : ranks) result.graphs.push_back(number_graphs(facts, graphs, result.keys_without_graph));
  result.graphs_by_order = graphs.numbers();
  if (result.graphs_by_order.empty()) result.graphs.clear();
  return result;
}

}  // namespace dcmt::analyzer
