// Storages that outlive the round in which they were made, more of them in every part of the run, and of which hardly
// any are freed. Not growth: what fills up and stops (a cache, a ring of buffers), and what is replaced (an average of
// weights).
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/rules/outliving.h"
#include "analyzer/rules/own_use.h"
#include "analyzer/rules/rounds.h"
#include "analyzer/rules/rules.h"
#include "analyzer/rules/usual_holders.h"
#include "analyzer/storages/holder_names.h"
#include "analyzer/storages/stacks.h"

namespace dcmt::analyzer {
namespace {

/// A finding in the making: a container, a variable, or a place without a known holder.
struct Group {
  Growth growth;
  const Container* container = nullptr;
  HeldStorages held;
  std::set<std::size_t> adding;  ///< rounds that added storages

  /// @param needed_until  nullopt: to the end of the run
  void add(const Living& living, std::optional<Sequence> needed_until, bool seen, bool frees, bool alone) {
    frees = frees && needed_until;
    held.add(*living.storage, {.storage = living.storage->id,
                               .bytes = living.bytes,
                               .needed_until = needed_until.value_or(Sequence()),
                               .frees = frees,
                               .alone = alone && frees});
    if (seen) ++growth.seen;
    adding.insert(living.round);
  }
};

/// Two readings found no root that leads to the storage: it is freed with the cycle. Former holders do not count.
bool only_cycles_hold(const TraceData& data, StorageId storage) {
  const auto paths = data.owners.paths_to(storage);
  return std::ranges::all_of(paths, [&](const OwnerPath& path) {
    return path.last_scan < paths.front().last_scan || data.text(path.path).starts_with("cycle ");
  });
}

/// True if the latest reading found the storage in a cycle, without proof yet, and `by` is something else. Then `by`
/// does not hold it.
bool is_in_another_cycle(const TraceData& data, const HeldBy& by, StorageId storage) {
  const auto paths = data.owners.paths_to(storage);
  if (paths.empty()) return false;
  const std::string_view latest = data.text(paths.front().path);
  if (!latest.starts_with("cycle ")) return false;
  return by.path == nullptr || holder_of(data.text(by.path->path)) != holder_of(latest);
}

std::map<std::string, Group> groups_of(const TraceData& data, const Rounds& rounds) {
  std::map<std::string, Group> groups;
  const std::map<StackId, OutlivingSite> sites = growing_sites(data, rounds);
  const LatestValues latest(data, sites);
  const OwnUse own_use(data, rounds, sites);
  for (const auto& [stack, site] : sites) {
    const UsualHolders usual(data, site);
    for (const Living& living : site.after) {
      const HeldBy by = usual.of(living.position);
      const std::optional<Sequence> needed_until = own_use.until(living);
      if (!needed_until) continue;
      for (const ContainerId id : by.containers) {
        groups[std::string(data.text(data.owners.container(id)->path))].growth.after.push_back(
            {.storage = living.storage->id,
             .bytes = living.bytes,
             .needed_until = *needed_until,
             .frees = !by.otherwise});
      }
    }
    for (const Living& living : site.living) {
      const HeldBy common = usual.of(living.position);
      HeldBy by = latest.had_it(living) ? HeldBy() : held_by(data, living.storage->id);
      const bool seen = !by.nobody();
      if (!seen) by = is_in_another_cycle(data, common, living.storage->id) ? HeldBy() : common;
      const std::optional<Sequence> needed_until = own_use.until(living);
      for (const ContainerId id : by.containers) {
        const Container* container = data.owners.container(id);
        Group& group = groups[std::string(data.text(container->path))];
        group.container = container;
        group.growth.holder = data.text(container->path);
        group.growth.place = data.text(container->place);
        group.growth.type = data.text(container->type);
        group.add(living, needed_until, seen, !common.otherwise, by.containers.size() == 1);
      }
      if (!by.containers.empty()) continue;
      const std::string variable(by.path != nullptr ? holder_of(data.text(by.path->path)) : std::string_view());
      const FrameId place = site_of(data, stack);
      Group& group = groups[variable.empty() ? " " + std::to_string(place.value) : variable];
      group.growth.holder = variable;
      if (by.path != nullptr) group.growth.place = data.text(by.path->place);
      const bool frees = by.path != nullptr && only_cycles_hold(data, by.path->storage);
      group.add(living, needed_until, seen, frees, frees);
    }
  }
  return groups;
}

/// True if the holder keeps what autograd saved for a backward.
bool keeps_graphs(const TraceData& data, const Growth& growth) {
  return std::ranges::any_of(growth.storages, [&](const GrowingStorage& each) {
    const Held* held = data.owners.of(each.storage);
    return held != nullptr && held->role == kSavedForBackward;
  });
}

bool has_backward(const TraceData& data) {
  return std::ranges::any_of(data.operators, [](const Operator& op) { return op.scope == OperatorScope::kBackward; }) ||
         std::ranges::any_of(data.marks, [&](const Mark& mark) { return is_phase(data, &mark, "backward"); });
}

std::string fix_of(const Growth& growth) {
  if (growth.by_calls) return "compute under torch.inference_mode(), or keep detached copies: .detach()";
  if (growth.holder.starts_with("cycle ")) return "cut one reference of the cycle: keep a detached copy";
  if (growth.type.empty() || growth.type == "graph")
    return "add numbers to it, not tensors: .item(), or .detach() where no backward needs it";
  return "store numbers, such as loss.item(), or detached copies; or clear it after use";
}

}  // namespace

namespace rules {

std::vector<Finding> grows(const TraceData& data, const Releases&) {
  const Rounds rounds = Rounds::steps_or_calls(data);
  const bool by_calls = rounds.by_calls();
  if (rounds.steps() < kFewestRounds || (by_calls && has_backward(data))) return {};
  std::vector<Finding> findings;
  for (auto& [name, group] : groups_of(data, rounds)) {
    // Otherwise these are storages of the last rounds, which may still be dropped.
    if (group.adding.size() < kFewestAdding) continue;
    Finding finding;
    finding.rule = "grows";
    finding.classes.emplace_back("D01");
    finding.title = "grows";
    Growth& growth = finding.growth.emplace(std::move(group.growth));
    if (group.container != nullptr) group.held.add_small(data, *group.container);
    group.held.move_to(growth);
    growth.by_calls = by_calls;
    if (by_calls && !keeps_graphs(data, growth)) continue;
    growth.rounds = rounds.steps() - rounds.steps_before(*group.adding.begin());
    finding.bytes = group.held.bytes();
    growth.per_round = Bytes(finding.bytes.value / std::max<std::int64_t>(1, growth.rounds));
    finding.confidence = growth.holder.empty()                                              ? Confidence::kUnknown
                         : growth.seen == static_cast<std::int64_t>(growth.storages.size()) ? Confidence::kCertain
                                                                                            : Confidence::kPartial;
    finding.why = by_calls ? "it keeps the autograd graphs of what was computed, and the program never calls a backward"
                           : "every part of the run adds to it, and hardly any of that is freed later";
    finding.fix = fix_of(growth);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace rules
}  // namespace dcmt::analyzer
