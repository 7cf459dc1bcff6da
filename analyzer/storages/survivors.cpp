#include "analyzer/storages/survivors.h"

#include <algorithm>
#include <map>

#include "analyzer/storages/stacks.h"
#include "analyzer/storages/storage_bytes.h"

namespace dcmt::analyzer {

std::vector<StepSurvivors> step_survivors(const TraceData& data) {
  std::vector<Step> ended;
  for (const Step& step : steps_of(data)) {
    if (step.to.valid() && !step.sums.valid()) ended.push_back(step);
  }
  std::vector<StepSurvivors> result(ended.size());
  std::vector<std::map<FrameId, SurvivorSite>> sites(ended.size());
  std::vector<std::map<FrameId, Bytes>> largest(ended.size());
  for (std::size_t i = 0; i < ended.size(); ++i) {
    result[i].step = ended[i];
    // Only for consecutive steps: between windows, a step may be missing.
    const bool followed = i + 1 < ended.size() && data.sums_only_at(ended[i + 1].from) == nullptr;
    if (followed) result[i].bytes_next = Bytes(0);
  }
  for (const Storage& storage : data.storages) {
    const Step* born = step_at(ended, storage.span.from_seq);
    if (born == nullptr || storage.span.from_seq < born->from || !storage.span.covers(born->to)) continue;
    const Bytes bytes = bytes_at(data, storage, born->to);
    if (bytes.value == 0) continue;
    const auto i = static_cast<std::size_t>(born - ended.data());
    StepSurvivors& survivors = result[i];
    ++survivors.storages;
    survivors.bytes.value += bytes.value;
    if (survivors.bytes_next) {
      const Bytes next = bytes_at(data, storage, ended[i + 1].to);
      if (next.value == 0) continue;
      ++survivors.storages_next;
      survivors.bytes_next->value += next.value;
    }
    const FrameId place = site_of(data, storage.birth.stack);
    SurvivorSite& site = sites[i][place];
    site.bytes.value += bytes.value;
    ++site.storages;
    Bytes& top = largest[i][place];
    if (!site.largest.valid() || bytes > top) {
      top = bytes;
      site.largest = storage.id;
    }
  }
  for (std::size_t i = 0; i < ended.size(); ++i) {
    for (auto& [frame, site] : sites[i]) {
      site.site = frame;
      result[i].sites.push_back(site);
    }
    std::stable_sort(result[i].sites.begin(), result[i].sites.end(),
                     [](const SurvivorSite& a, const SurvivorSite& b) { return a.bytes > b.bytes; });
  }
  return result;
}

}  // namespace dcmt::analyzer
