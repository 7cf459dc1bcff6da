#include "analyzer/model/survivors.h"

#include "analyzer/storages/stacks.h"

namespace dcmt::model {

using analyzer::describe_frame;
using analyzer::StepSurvivors;

Range<Survivors> survivors_of(const TraceData& data, const std::vector<StepSurvivors>& steps) {
  return {
      steps.size(), [&data, &steps](std::size_t at) {
        const StepSurvivors& from = steps[at];
        Survivors survivors;
        survivors.step = from.step.number;
        survivors.end = {from.step.to, from.step.to_ns};
        survivors.storages = from.storages;
        survivors.bytes = from.bytes;
        if (from.bytes_next) survivors.storages_next = from.storages_next;
        survivors.bytes_next = from.bytes_next;
        for (const analyzer::SurvivorSite& site : from.sites) {
          survivors.sites.push_back({describe_frame(data, site.site), site.bytes, site.storages, given(site.largest)});
        }
        return survivors;
      }};
}

std::optional<Outliving> outliving(const TraceData& data, const std::vector<StepSurvivors>& steps) {
  if (steps.size() < 2) return std::nullopt;
  const StepSurvivors& born = steps[steps.size() - 2];
  if (born.bytes_next.value_or(Bytes(0)).value == 0) return std::nullopt;
  return Outliving{*born.bytes_next, born.storages_next, born.step.number, steps.back().step.number,
                   describe_frame(data, born.sites.front().site)};
}

}  // namespace dcmt::model
