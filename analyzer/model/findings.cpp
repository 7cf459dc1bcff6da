#include "analyzer/model/findings.h"

#include <algorithm>
#include <map>
#include <set>

#include "analyzer/storages/parameters.h"

namespace dcmt::model {
namespace {

using analyzer::Analysis;

std::vector<ParametersOfGraph> parameters_of(const TraceData& data, const analyzer::Finding& finding) {
  std::map<std::int64_t, std::set<std::int64_t>> by_graph;
  for (const analyzer::FindingItem& item : finding.items) by_graph[item.key.graph].insert(item.key.key);
  std::vector<ParametersOfGraph> parameters;
  for (const auto& [graph, keys] : by_graph) {
    ParametersOfGraph own{graph, analyzer::describe_graph(data, graph), {keys.begin(), keys.end()}, {}};
    for (const std::int64_t key : keys) {
      const analyzer::Parameter* parameter = analyzer::find_parameter(data, {graph, key});
      if (parameter == nullptr || !parameter->name.valid()) break;
      own.names.emplace_back(data.text(parameter->name));
    }
    if (own.names.size() < keys.size()) own.names.clear();
    parameters.push_back(std::move(own));
  }
  return parameters;
}

std::vector<std::int64_t> steps_of(const analyzer::Finding& finding) {
  std::set<std::int64_t> steps;
  for (const analyzer::FindingItem& item : finding.items) {
    if (item.step != nullptr) steps.insert(item.step->number);
  }
  return {steps.begin(), steps.end()};
}

std::vector<std::string> origins_besides(const TraceData& data, const analyzer::Finding& finding) {
  std::vector<std::string> origins;
  for (const std::string& origin : finding.origins) {
    const bool is_name = std::ranges::any_of(finding.items, [&](const analyzer::FindingItem& item) {
      return item.gather != nullptr && data.text(item.gather->name) == origin;
    });
    if (!is_name) origins.push_back(origin);
  }
  return origins;
}

/// The peak of the finding's device.
Bytes peak_for(const Analysis& analysis, const analyzer::Finding& finding) {
  const auto of = std::ranges::find(analysis.devices, finding.device, &analyzer::DeviceAnalysis::device);
  return (of != analysis.devices.end() ? *of : analysis.main()).what_if.measured.bytes;
}

std::optional<HeldFor> held_for(const TraceData& data, const analyzer::Finding& finding) {
  std::optional<HeldFor> held;
  for (const analyzer::FindingItem& item : finding.items) {
    if (!item.gone) continue;
    const analyzer::OperatorCount& operators = item.row->operators_held;
    const TimeNs time(item.until_ns.value - item.since_ns.value);
    if (!held) {
      held = HeldFor{
          *gone_of(data, item.gone, item.row->holders()), true, operators.at_least, operators.at_least, time, time};
    }
    held->exact = held->exact && operators.exact();
    held->least_operators = std::min(held->least_operators, operators.at_least);
    held->most_operators = std::max(held->most_operators, operators.at_least);
    held->shortest = std::min(held->shortest, time);
    held->longest = std::max(held->longest, time);
  }
  return held;
}

void add_residual(const TraceData& data, const analyzer::Finding& from, ReportedFinding& finding) {
  finding.only_tensor_cleared =
      std::ranges::all_of(from.items, [](const auto& item) { return item.row->metadata_only; });
  finding.certain_where_inspected = std::ranges::all_of(from.items, [](const auto& item) {
    return item.row->holders() == nullptr || item.confidence == analyzer::Confidence::kCertain;
  });
  finding.held_for = held_for(data, from);
}

ReportedFinding finding_of(const Analysis& analysis, const analyzer::Finding& from) {
  const TraceData& data = *analysis.data;
  ReportedFinding finding;
  static_cast<analyzer::FindingBase&>(finding) = from;
  finding.device = text_of(data, from.device);
  finding.keys = from.keys();
  finding.bytes_each = from.bytes_each();
  finding.items = {from.items.size(),
                   [&data, &items = from.items](std::size_t at) { return ReportedItem(data, items[at]); }};
  finding.out_of_memory = errors_of(analysis, from);
  finding.growth = from.growth;
  finding.proof = proof_of(analysis, from);
  finding.parameters = parameters_of(data, from);
  finding.steps = steps_of(from);
  finding.origins_besides = origins_besides(data, from);
  if (const Bytes peak = peak_for(analysis, from); peak.value > 0) {
    finding.alive_share = static_cast<double>(from.alive_at_peak.value) / static_cast<double>(peak.value);
  }
  finding.not_freed = std::ranges::count_if(from.items, [](const auto& item) { return !item.gone; });
  if (from.rule == "residual") add_residual(data, from, finding);
  finding.memory_ran_out = story_of_errors(analysis, from);
  return finding;
}

}  // namespace

std::optional<analyzer::OperatorCount> ReportedItem::operators_held() const {
  return item_->row != nullptr ? std::optional(item_->row->operators_held) : std::nullopt;
}

std::vector<ReportedFinding> findings_of(const Analysis& analysis) {
  std::vector<ReportedFinding> findings;
  for (const analyzer::Finding& finding : analysis.findings) findings.push_back(finding_of(analysis, finding));
  return findings;
}

}  // namespace dcmt::model
