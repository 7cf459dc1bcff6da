#include "analyzer/model/growth.h"

#include "analyzer/model/optional_text.h"
#include "analyzer/rules/stored_by.h"
#include "analyzer/storages/stacks.h"

namespace dcmt::model {
namespace {

using analyzer::RoundKind;

std::string_view unit_of(RoundKind kind) {
  switch (kind) {
    case RoundKind::kStep: return "step";
    case RoundKind::kBackward: return "backward";
    case RoundKind::kCall: return "call";
  }
  return "";
}

}  // namespace

std::optional<Growth> growth_of(const TraceData& data, const analyzer::Finding& finding) {
  if (!finding.growth) return std::nullopt;
  const analyzer::Growth& from = *finding.growth;
  Growth growth;
  growth.holder = from.holder;
  growth.place = unless_empty(from.place);
  growth.type = unless_empty(from.type);
  growth.steps = from.rounds;
  growth.storages = static_cast<std::int64_t>(from.storages.size());
  growth.seen = from.seen;
  growth.per_step = from.per_round;
  growth.unit = unit_of(from.kind);
  growth.by_calls = from.kind == RoundKind::kCall;
  growth.alone = from.alone;
  for (const analyzer::GrowingSite& site : from.sites) {
    const std::string text = analyzer::describe_site(data, site.stack);
    std::optional<std::string> called_from;
    if (const FrameId caller = analyzer::caller_of_package(data, site.stack); caller.valid())
      called_from = analyzer::describe_frame(data, caller);
    const auto same = std::ranges::find_if(
        growth.sites, [&](const GrowthSite& each) { return each.site == text && each.called_from == called_from; });
    GrowthSite& sum =
        same != growth.sites.end() ? *same : growth.sites.emplace_back(GrowthSite{text, called_from, {}, 0});
    sum.bytes.value += site.bytes.value;
    sum.storages += site.storages;
  }
  std::ranges::stable_sort(growth.sites, std::greater(), &GrowthSite::bytes);
  for (const analyzer::StoringStatement& each : from.stored_by.statements)
    growth.stored_by.push_back({each.site, each.text});
  for (const analyzer::StoringStatement& each : from.stored_by.calls) growth.called_at.push_back({each.site, each.text});
  if (!from.storages.empty()) growth.example = from.storages.back().storage;
  return growth;
}

std::optional<OutsideGrowth> outside_growth_of(const analyzer::Finding& finding) {
  if (!finding.outside) return std::nullopt;
  const analyzer::OutsideGrowth& from = *finding.outside;
  OutsideGrowth growth;
  growth.kind = from.kind;
  growth.holder = unless_empty(from.holder);
  growth.place = unless_empty(from.place);
  growth.type = unless_empty(from.type);
  growth.file = unless_empty(from.file);
  growth.steps = from.steps;
  growth.per_step = from.per_step;
  growth.before = from.before;
  growth.after = from.after;
  if (from.arrays > 0) growth.arrays = from.arrays;
  return growth;
}

}  // namespace dcmt::model
