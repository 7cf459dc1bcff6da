#include "cli/ranks_json.h"

#include <utility>

namespace dcmt::cli {
namespace {

using analyzer::GatherDivergence;
using analyzer::Key;
using analyzer::LastGather;
using analyzer::ParameterDifference;
using analyzer::RankComparison;
using analyzer::RankFacts;
using analyzer::RankPeak;
using analyzer::ResidualDifference;

Json rank_json(const RankFacts& facts) {
  Json devices = Json::array();
  for (const RankPeak& peak : facts.devices) {
    devices.push_back({{"device", peak.device},
                       {"peak_bytes", peak.bytes.value},
                       {"at", moment_json(peak.at, peak.at_ns)},
                       {"step", optional_json(peak.step)},
                       {"predicted_bytes", peak.predicted.value}});
  }
  Json residual = Json::array();
  for (const auto& [key, parameter] : facts.parameters) {
    if (parameter.residual > 0) residual.push_back(key_json(key));
  }
  return {{"path", facts.path},
          {"rank", facts.rank},
          {"devices", std::move(devices)},
          {"residual", std::move(residual)},
          {"residual_bytes", facts.residual_bytes().value},
          {"final_releases", facts.final_releases()},
          {"gathers", facts.gathers()},
          {"steps", facts.steps_ended},
          {"lost", facts.lost}};
}

Json order_json(const std::optional<GatherDivergence>& order) {
  if (!order) return {};
  Json branches = Json::array();
  for (const GatherDivergence::Branch& branch : order->branches) {
    Json next = Json::array();
    for (const Key& key : branch.next) next.push_back(key_json(key));
    branches.push_back({{"ranks", branch.ranks},
                        {"key", branch.key ? key_json(*branch.key) : Json()},
                        {"operator", branch.place.operator_name},
                        {"site", branch.place.site},
                        {"at_seq", branch.at.valid() ? Json(branch.at.value) : Json()},
                        {"next", std::move(next)}});
  }
  return {{"step", order->step},
          {"position", order->position},
          {"before", order->before ? key_json(*order->before) : Json()},
          {"branches", std::move(branches)},
          {"steps", order->steps}};
}

Json parameter_json(const ParameterDifference& difference) {
  Json sides = Json::array();
  for (const ParameterDifference::Side& side : difference.sides) {
    sides.push_back({{"ranks", side.ranks},
                     {"gathered_bytes", bytes_json(side.bytes)},
                     {"uses", optional_json(side.declared)},
                     {"persistent", optional_json(side.persistent)}});
  }
  return {{"key", key_json(difference.key)}, {"step", difference.step}, {"sides", std::move(sides)}};
}

Json residual_json(const ResidualDifference& difference) {
  Json sides = Json::array();
  for (const ResidualDifference::Side& side : difference.sides) {
    const bool residual = side.fate == analyzer::Fate::kResidual;
    sides.push_back(
        {{"ranks", side.ranks}, {"fate", name_of(side.fate)}, {"bytes", residual ? Json(side.bytes.value) : Json()}});
  }
  return {{"key", key_json(difference.key)}, {"sides", std::move(sides)}};
}

Json sides_json(const std::vector<analyzer::BytesOfRanks>& sides) {
  Json list = Json::array();
  for (const analyzer::BytesOfRanks& side : sides) list.push_back({{"ranks", side.ranks}, {"bytes", side.bytes.value}});
  return list;
}

Json finding_json(const analyzer::FindingDifference& difference) {
  return {{"title", difference.title},
          {"place", difference.place},
          {"with", sides_json(difference.with)},
          {"without", difference.without}};
}

Json memory_json(const std::optional<analyzer::MemoryDifference>& memory) {
  if (!memory) return {};
  Json growth = Json::array();
  for (const analyzer::MemoryDifference::Growth& side : memory->growth) {
    growth.push_back({{"ranks", side.ranks}, {"bytes_a_step", side.bytes_a_step}});
  }
  Json places = Json::array();
  for (const analyzer::MemoryDifference::Place& place : memory->places) {
    places.push_back(
        {{"site", place.site}, {"from_step", optional_json(place.from_step)}, {"sides", sides_json(place.sides)}});
  }
  const bool grown = !memory->growth.empty();
  return {{"peaks", sides_json(memory->peaks)},
          {"first_step", grown ? Json(memory->first) : Json()},
          {"last_step", grown ? Json(memory->last) : Json()},
          {"growth", std::move(growth)},
          {"places", std::move(places)}};
}

Json end_json(const LastGather& end) {
  return {{"ranks", end.ranks},
          {"step", optional_json(end.step)},
          {"position", end.step ? Json(end.position) : Json()},
          {"key", end.step ? key_json(end.key) : Json()}};
}

template <class Item>
Json list_json(const std::vector<Item>& items, Json (*json_of)(const Item&)) {
  Json list = Json::array();
  for (const Item& item : items) list.push_back(json_of(item));
  return list;
}

}  // namespace

Json ranks_json(const RankComparison& comparison) {
  Json graphs = Json::array();
  for (std::size_t i = 0; i < comparison.graphs.size(); ++i) {
    graphs.push_back({{"rank", comparison.ranks[i].rank}, {"numbers", comparison.graphs[i]}});
  }
  Json mechanisms = Json::array();
  for (const auto& [graph, name] : comparison.mechanisms) mechanisms.push_back({{"graph", graph}, {"name", name}});
  Json names = Json::array();
  for (const auto& [key, name] : comparison.names) names.push_back({{"key", key_json(key)}, {"name", name}});
  return {{"version", kJsonVersion},
          {"command", "show ranks"},
          {"differs", comparison.differs()},
          {"world_size", comparison.world_size},
          {"missing_ranks", comparison.missing},
          {"left_out", comparison.left_out},
          {"ranks", list_json(comparison.ranks, rank_json)},
          {"graphs", std::move(graphs)},
          {"graphs_by_order", comparison.graphs_by_order},
          {"mechanisms", std::move(mechanisms)},
          {"names", std::move(names)},
          {"keys_without_graph", comparison.keys_without_graph},
          {"has_steps", comparison.has_steps},
          {"steps", comparison.steps},
          {"lacking_ranks", comparison.lacking},
          {"gather_order", order_json(comparison.order)},
          {"parameters", list_json(comparison.parameters, parameter_json)},
          {"residual", list_json(comparison.residual, residual_json)},
          {"findings", list_json(comparison.findings, finding_json)},
          {"memory", memory_json(comparison.memory)},
          {"last_gathers", list_json(comparison.ends, end_json)}};
}

}  // namespace dcmt::cli
