#include "analyzer/rules/used_modules.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

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

bool is_parameter(const TraceData& data, StorageId storage) {
  const Held* held = data.owners.of(storage);
  return held != nullptr && held->role == kParameter;
}

/// The birth of the latest whose module has run: a layer that was just added may not have.
Sequence latest_that_ran(const TraceData& data, const OutlivingSite& site, const std::map<ModuleId, Sequence>& runs) {
  for (auto living = site.living.rbegin(); living != site.living.rend(); ++living) {
    const Sequence birth = living->storage->span.from_seq;
    const auto run = runs.find(module_of(data, living->storage->id));
    if (run != runs.end() && run->second > birth) return birth;
  }
  return {};
}

}  // namespace

void leave_out_used(const TraceData& data, GrowingSites& growing) {
  const std::map<ModuleId, Sequence> runs = latest_runs(data);
  std::vector<StackId> in_use;
  bool have_parameters = false;
  for (const auto& [stack, site] : growing.sites) {
    const Sequence last = latest_that_ran(data, site, runs);
    if (!last.valid() || site.replaces()) continue;
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
    if (2 * used.size() <= site.living.size()) continue;
    in_use.push_back(stack);
    have_parameters |= std::ranges::any_of(used, [&](StorageId each) { return is_parameter(data, each); });
  }
  if (!have_parameters) return;
  for (const StackId each : in_use) growing.sites.erase(each);
}

}  // namespace dcmt::analyzer
