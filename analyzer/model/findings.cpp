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

void add_residual(const TraceData& data, const analyzer::Finding& from, Finding& finding) {
  finding.only_tensor_cleared =
      std::ranges::all_of(from.items, [](const auto& item) { return item.row->metadata_only; });
  finding.certain_where_inspected = std::ranges::all_of(from.items, [](const auto& item) {
    return item.row->holders() == nullptr || item.confidence == analyzer::Confidence::kCertain;
  });
  finding.held_for = held_for(data, from);
}

Finding finding_of(const Analysis& analysis, const analyzer::Finding& from) {
  const TraceData& data = *analysis.data;
  Finding finding;
  finding.number = from.number;
  finding.identity = from.identity;
  finding.rule = from.rule;
  finding.classes = from.classes;
  finding.title = from.title;
  finding.device = text_of(data, from.device);
  finding.origins = from.origins;
  finding.trial = from.trial;
  finding.keys = from.keys();
  finding.bytes = from.bytes;
  finding.bytes_each = from.bytes_each();
  finding.byte_seconds = from.byte_seconds;
  finding.dead_at_peak = from.dead_at_peak;
  finding.peak_share = from.peak_share;
  finding.alive_at_peak = from.alive_at_peak;
  finding.predicted_peak = from.predicted_peak;
  finding.confidence = from.confidence;
  finding.why = from.why;
  finding.fix = from.fix;
  finding.holders = from.holders;
  finding.more_alike = from.more_alike;
  finding.censuses = from.censuses;
  finding.explained = from.explained;
  finding.unexplained = from.unexplained;
  finding.reads = from.reads;
  finding.kernel_reads = from.kernel_reads;
  finding.coverage = from.coverage;
  finding.launches = from.launches;
  finding.evidence = from.evidence;
  finding.items = {from.items.size(),
                   [&data, &items = from.items](std::size_t at) { return FindingItem(data, items[at]); }};
  finding.out_of_memory = errors_of(analysis, from);
  finding.waits = from.waits;
  finding.pools = from.pools;
  finding.growth = growth_of(data, from);
  finding.outside = from.outside;
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

std::optional<analyzer::OperatorCount> FindingItem::operators_held() const {
  return item_->row != nullptr ? std::optional(item_->row->operators_held) : std::nullopt;
}

std::vector<Finding> findings_of(const Analysis& analysis) {
  std::vector<Finding> findings;
  for (const analyzer::Finding& finding : analysis.findings) findings.push_back(finding_of(analysis, finding));
  return findings;
}

}  // namespace dcmt::model
