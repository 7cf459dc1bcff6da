#include "analyzer/model/growth.h"

#include "analyzer/load/optional_text.h"
#include "analyzer/storages/stacks.h"

namespace dcmt::model {

using analyzer::RoundKind;

std::optional<Growth> growth_of(const TraceData& data, const analyzer::Finding& finding) {
  if (!finding.growth) return std::nullopt;
  const analyzer::Growth& from = *finding.growth;
  Growth growth;
  growth.holder = from.holder;
  growth.also = from.also;
  growth.place = analyzer::unless_empty(from.place);
  growth.type = analyzer::unless_empty(from.type);
  growth.steps = from.rounds;
  growth.storages = static_cast<std::int64_t>(from.storages.size());
  growth.seen = from.seen;
  growth.per_step = from.per_round;
  growth.unit = analyzer::name_of(from.kind);
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
  growth.stored_by = from.stored_by.statements;
  growth.called_at = from.stored_by.calls;
  growth.used_at = from.stored_by.uses;
  if (!from.storages.empty()) growth.example = from.storages.back().storage;
  return growth;
}

}  // namespace dcmt::model
