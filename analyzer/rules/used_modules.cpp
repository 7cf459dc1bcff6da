#include "analyzer/rules/used_modules.h"

#include <algorithm>
#include <map>
#include <set>

namespace dcmt::analyzer {
namespace {

/// When each module made its latest block.
std::map<ModuleId, Sequence> latest_runs(const TraceData& data) {
  std::map<ModuleId, Sequence> latest;
  for (const Block& block : data.blocks) {
    if (!block.module.valid()) continue;
    Sequence& run = latest[block.module];
    run = std::max(run, block.span.from_seq);
  }
  return latest;
}

ModuleId module_of(const TraceData& data, StorageId storage) {
  const Held* held = data.owners.of(storage);
  return held != nullptr ? held->module : ModuleId();
}

}  // namespace

void leave_out_used(const TraceData& data, GrowingSites& growing) {
  const std::map<ModuleId, Sequence> runs = latest_runs(data);
  for (auto& [stack, site] : growing.sites) {
    if (site.living.empty() || site.replaces()) continue;
    const Sequence last = site.living.back().storage->span.from_seq;
    std::set<StorageId> used;
    for (const Series& series : series_of(site)) {
      std::set<ModuleId> later;
      for (auto living = series.rbegin(); living != series.rend(); ++living) {
        const ModuleId module = module_of(data, (*living)->storage->id);
        if (!module.valid() || !later.insert(module).second) continue;
        const auto run = runs.find(module);
        if (run != runs.end() && run->second > last) used.insert((*living)->storage->id);
      }
    }
    if (2 * used.size() > site.living.size()) site.living.clear();
  }
  std::erase_if(growing.sites, [](const auto& each) { return each.second.living.empty(); });
}

}  // namespace dcmt::analyzer
