#include "analyzer/ranks/rank_facts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analyzer/storages/stacks.h"
#include "trace/sql/limits.h"

namespace dcmt::analyzer {
namespace {

std::map<Key, RankParameter> parameters_of(const Analysis& analysis) {
  std::map<Key, RankParameter> parameters;
  for (const Cycle& cycle : analysis.releases.cycles) {
    RankParameter& parameter = parameters[cycle.key()];
    ++parameter.gathers;
    parameter.persistent = parameter.persistent || cycle.persistent;
  }
  for (const ReleaseRow& row : analysis.releases.rows) {
    const Mark& mark = *row.mark;
    if (!mark.flags.final || mark.flags.persistent || mark.flags.no_gather) continue;
    RankParameter& parameter = parameters[row.key()];
    ++parameter.final_releases;
    if (!row.residual) continue;
    ++parameter.residual;
    parameter.residual_bytes = std::max(parameter.residual_bytes, row.bytes_left());
  }
  // The recorder's counts cover steps without rows, too. The rows cover a last release that was never settled.
  for (const KeySum& sum : analysis.data->key_sums) {
    RankParameter& parameter = parameters[sum.key];
    parameter.gathers = std::max(parameter.gathers, sum.gathers);
    parameter.final_releases = std::max(parameter.final_releases, sum.final);
    parameter.residual = std::max(parameter.residual, sum.residual);
    if (sum.residual > 0 && parameter.residual_bytes.value == 0) {
      parameter.residual_bytes = Bytes(std::max<std::int64_t>(0, sum.residual_bytes / sum.residual));
    }
  }
  return parameters;
}

/// Findings after the last step are left out: ranks end their traces at different points of the next step.
std::vector<RankFinding> findings_of(const Analysis& analysis) {
  std::vector<RankFinding> findings;
  for (const Finding& finding : analysis.findings) {
    const auto first = std::find_if(finding.items.begin(), finding.items.end(), [&](const FindingItem& item) {
      return item.step != nullptr || analysis.releases.steps.empty();
    });
    if (first == finding.items.end() && !finding.items.empty()) continue;
    RankFinding own{finding.identity, finding.title, {}, finding.bytes};
    if (first != finding.items.end()) {
      const Mark* mark = first->release != nullptr ? first->release : first->gather;
      if (mark != nullptr) own.place = describe_site(*analysis.data, mark->by.stack);
    }
    if (own.place.empty() && finding.growth && !finding.growth->sites.empty()) {
      own.place = describe_site(*analysis.data, finding.growth->sites.front().stack);
    }
    findings.push_back(std::move(own));
  }
  return findings;
}

/// The cycles in the order of their gathers.
std::vector<const Cycle*> in_order(const std::vector<Cycle>& cycles) {
  std::vector<const Cycle*> ordered;
  for (const Cycle& cycle : cycles) ordered.push_back(&cycle);
  std::sort(ordered.begin(), ordered.end(),
            [](const Cycle* a, const Cycle* b) { return a->gather->span.from_seq < b->gather->span.from_seq; });
  return ordered;
}

/// Collects gathers by step, for steps that have their rows.
class StepGathers {
 public:
  StepGathers(const Analysis& analysis, RankFacts& facts) : data_(*analysis.data), facts_(facts) {
    const std::vector<Step>& steps = analysis.releases.steps;
    if (!steps.empty()) facts.first_step = steps.front().number - steps.front().count + 1;
    for (const Step& step : steps) {
      RankStep& own = steps_[step.number];
      own.number = step.number;
      own.ended = step.to.valid();
      if (step.sums.valid()) without_rows_.insert(step.number);
    }
    // The trace continues after the last step, in an incomplete step.
    const bool goes_on = steps.empty() || steps.back().to.valid();
    const Sequence last_end = goes_on && !steps.empty() ? steps.back().to : Sequence(0);
    tail_.ended = false;
    if (!steps.empty()) tail_.number = steps_.rbegin()->first + 1;
    tail_has_rows_ = goes_on && data_.sums_only_in(last_end, last_sequence(data_)) == nullptr;
  }

  void add(const Cycle& cycle, const Step* step) {
    const Mark& mark = *cycle.gather;
    RankGather gather;
    gather.key = cycle.key();
    gather.bytes = mark.bytes;
    if (!cycle.releases.empty()) gather.declared = cycle.releases.front()->mark->declared;
    if (cycle.persistent || !cycle.releases.empty()) gather.persistent = cycle.persistent;
    gather.at = mark.span.from_seq;
    gather.place = place_of(mark);
    (step != nullptr ? steps_[step->number] : tail_).gathers.push_back(gather);
  }

  void finish() {
    for (auto& [number, step] : steps_) {
      if (!without_rows_.contains(number)) facts_.steps.push_back(std::move(step));
    }
    if (tail_has_rows_ && !tail_.gathers.empty()) facts_.steps.push_back(std::move(tail_));
  }

 private:
  std::uint32_t place_of(const Mark& mark) {
    const auto [at, fresh] =
        places_.try_emplace({mark.name, mark.by.stack}, static_cast<std::uint32_t>(facts_.places.size()));
    if (fresh) facts_.places.push_back({std::string(data_.text(mark.name)), describe_site(data_, mark.by.stack)});
    return at->second;
  }

  const TraceData& data_;
  RankFacts& facts_;
  std::map<std::int64_t, RankStep> steps_;
  std::set<std::int64_t> without_rows_;
  RankStep tail_;
  bool tail_has_rows_ = false;
  std::map<std::pair<StringId, StackId>, std::uint32_t> places_;
};

}  // namespace

std::int64_t RankFacts::gathers() const {
  std::int64_t number = 0;
  for (const auto& [key, parameter] : parameters) number += parameter.gathers;
  return number;
}

std::int64_t RankFacts::final_releases() const {
  std::int64_t number = 0;
  for (const auto& [key, parameter] : parameters) number += parameter.final_releases;
  return number;
}

std::int64_t RankFacts::residual_keys() const {
  return std::count_if(parameters.begin(), parameters.end(),
                       [](const auto& entry) { return entry.second.residual > 0; });
}

Bytes RankFacts::residual_bytes() const {
  Bytes bytes;
  for (const auto& [key, parameter] : parameters) {
    if (parameter.residual > 0) bytes.value = std::min(kLargest, bytes.value + parameter.residual_bytes.value);
  }
  return bytes;
}

std::vector<Key> RankFacts::residual() const {
  std::vector<Key> keys;
  for (const auto& [key, parameter] : parameters) {
    if (parameter.residual > 0) keys.push_back(key);
  }
  return keys;
}

RankFacts rank_facts(const Analysis& analysis) {
  RankFacts facts;
  facts.path = analysis.data->path;
  facts.rank = analysis.facts.rank;
  facts.world_size = analysis.facts.world_size;
  for (const DeviceAnalysis& device : analysis.devices) {
    const WhatIf& what_if = device.what_if;
    if (!device.device.valid()) continue;
    facts.devices.push_back({std::string(analysis.data->text(device.device)), what_if.measured.bytes,
                             what_if.measured.seq, what_if.measured.ns,
                             device.peak_step != nullptr ? std::optional(device.peak_step->number) : std::nullopt,
                             what_if.predicted.bytes});
  }
  facts.memory = rank_memory(analysis);
  facts.findings = findings_of(analysis);
  facts.parameters = parameters_of(analysis);
  for (const Parameter& parameter : analysis.data->parameters) {
    facts.mechanisms.emplace(parameter.key.graph, analysis.data->text(parameter.mechanism));
    if (parameter.name.valid()) facts.names.emplace(parameter.key, analysis.data->text(parameter.name));
  }
  facts.steps_ended = analysis.facts.steps;
  facts.lost = analysis.facts.lost;
  StepGathers gathers(analysis, facts);
  for (const Cycle* cycle : in_order(analysis.releases.cycles)) {
    gathers.add(*cycle, step_at(analysis.releases.steps, cycle->gather->span.from_seq));
  }
  gathers.finish();
  return facts;
}

}  // namespace dcmt::analyzer
