#include "analyzer/growth/used_modules.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
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

/// True if the latest reading that found gradients of the size of the place's parameters found as many as there were
/// parameters of that size in all, each made in its own round or the one before: the program trains all of them. Of
/// modules that make small blocks only, nothing says that they run.
bool are_trained(const TraceData& data, const OutlivingSite& site) {
  std::map<std::int64_t, std::size_t> sizes;
  for (const Living& each : site.living) sizes[each.bytes.value] += is_parameter(data, each.storage->id) ? 1 : 0;
  const auto most = std::ranges::max_element(sizes, {}, [](const auto& each) { return each.second; });
  if (most == sizes.end() || most->second < kFewestBirths) return false;
  std::vector<std::pair<const Storage*, const Held*>> held_of_size;
  ScanId last;
  for (const Held& held : data.owners.held) {
    const Storage* storage = data.storages.find(held.storage);
    if (storage == nullptr || storage->bytes.value != most->first) continue;
    held_of_size.emplace_back(storage, &held);
    if (held.role == kGradient) last = std::max(last, held.scan);
  }
  const Scan* scan = data.owners.scan(last);
  if (scan == nullptr) return false;
  const std::size_t round = site.rounds->at(scan->from);
  std::size_t there = 0, trained = 0;
  for (const auto& [storage, held] : held_of_size) {
    if (!storage->span.covers(scan->from)) continue;
    there += held->role == kParameter ? 1 : 0;
    trained += held->role == kGradient && site.rounds->at(storage->span.from_seq) + 1 >= round ? 1 : 0;
  }
  return there >= kFewestBirths && trained >= there;
}

/// True if the place makes an optimizer's state, and as much of it as there is was made for parameters that had new
/// gradients when the latest of it was made: the optimizer works with all of it.
bool are_of_trained(const TraceData& data, const OutlivingSite& site) {
  std::map<std::int64_t, std::vector<const Storage*>> states;  // by size
  for (const Living& each : site.living) {
    const Held* held = data.owners.of(each.storage->id);
    if (held != nullptr && held->role == kOptimizerState) states[each.bytes.value].push_back(each.storage);
  }
  const auto most = std::ranges::max_element(states, {}, [](const auto& each) { return each.second.size(); });
  if (most == states.end() || 2 * most->second.size() <= site.living.size()) return false;
  std::set<StackId> places;
  for (const Held& held : data.owners.held) {
    if (held.role != kGradient) continue;
    if (const Storage* storage = data.storages.find(held.storage)) places.insert(storage->birth.stack);
  }
  const Sequence made = most->second.back()->span.from_seq;
  const std::size_t round = site.rounds->at(made);
  const auto is_new_gradient = [&](const Storage& storage) {
    return storage.bytes.value == most->first && storage.span.covers(made) && places.contains(storage.birth.stack) &&
           site.rounds->at(storage.span.from_seq) + 1 >= round;
  };
  return static_cast<std::size_t>(std::ranges::count_if(data.storages, is_new_gradient)) >= most->second.size();
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
    if (are_trained(data, site) || are_of_trained(data, site)) {
      in_use.push_back(stack);
      have_parameters = true;
      continue;
    }
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
