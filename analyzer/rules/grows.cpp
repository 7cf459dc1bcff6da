// Storages that accumulate throughout a stretch of the run and are rarely freed, by their holders. Not growth: what
// fills up and stops (a cache, a ring of buffers), and what is replaced (an average of weights).
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "analyzer/growth/growing_sites.h"
#include "analyzer/growth/keyed_use.h"
#include "analyzer/growth/own_use.h"
#include "analyzer/growth/same_ways.h"
#include "analyzer/growth/several_at_once.h"
#include "analyzer/growth/small_kept.h"
#include "analyzer/growth/used_modules.h"
#include "analyzer/growth/usual_holders.h"
#include "analyzer/load/optional_text.h"
#include "analyzer/rules/rules.h"
#include "analyzer/source/common_names.h"
#include "analyzer/source/holder_path.h"
#include "analyzer/storages/holder_names.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/storages/storage_bytes.h"
#include "trace/base/code_path.h"
#include "trace/base/cycle_text.h"

namespace dcmt::analyzer {
namespace {

/// Fewer rounds with additions than this are not called growth.
constexpr std::size_t kFewestAdding = 3;
/// What adds in this share of all rounds in which one of two holders does adds in the same ones.
constexpr double kInSameRounds = 0.9;
/// Of what a growth has in storages without rows, at least the rest was counted by a reading.
constexpr double kMostShared = 0.75;
/// Growth has ended if so many times the usual distance between two additions have followed the last one.
constexpr std::int64_t kManyFollowed = 3;

/// A finding in the making: a container, a variable, or a place without a known holder.
struct Group {
  Growth growth;
  bool in_container = false;
  std::set<ContainerId> containers;  ///< with what it has; empty: a variable
  HeldStorages held;
  struct OfSite {
    std::shared_ptr<const Rounds> rounds;
    Sequence first;  ///< birth of its first storage here
    Bytes bytes;
  };
  std::map<StackId, OfSite> sites;
  std::set<Sequence> adding;  ///< ends of the rounds that added storages

  [[nodiscard]] double shared_part() const { return std::min(kMostShared, held.shared_part()); }
  /// What it has in storages without rows.
  [[nodiscard]] SmallKept::Found small(const TraceData& data) const {
    SmallKept::Found found;
    for (const ContainerId each : containers) found.add(*data.owners.container(each));
    // A reading counts what one container alone leads to. What several have together is as of those with rows.
    found.bytes.value = static_cast<std::int64_t>(static_cast<double>(found.bytes.value) / (1 - shared_part()));
    return found;
  }
  /// The birth of its first storage; zero if it may have had others before those of their sizes were tracked.
  [[nodiscard]] Sequence began() const {
    if (held.are_small()) return {};
    const auto of = [](const auto& each) { return each.second.first; };
    return std::ranges::min(sites | std::views::transform(of));
  }
  /// The place that made most of it.
  [[nodiscard]] const OfSite& most_of_site() const {
    const auto of = [](const auto& each) { return each.second.bytes; };
    return std::ranges::max_element(sites, {}, of)->second;
  }

  /// True if both are parts of one object, and add to it in the same rounds: they go with one change of the program.
  [[nodiscard]] bool is_of_one_cause(const Group& other) const {
    if (!are_of_one_object(growth.holder, other.growth.holder)) return false;
    const Sequence both = std::max(*adding.begin(), *other.adding.begin());  // sizes get rows one after the other
    std::vector<Sequence> all, same;
    std::ranges::set_union(adding.lower_bound(both), adding.end(), other.adding.lower_bound(both), other.adding.end(),
                           std::back_inserter(all));
    std::ranges::set_intersection(adding, other.adding, std::back_inserter(same));
    return same.size() >= kFewestAdding &&
           static_cast<double>(same.size()) >= kInSameRounds * static_cast<double>(all.size());
  }

  void add(const TraceData& data, Group&& other) {
    growth.also.push_back(std::move(other.growth.holder));
    growth.begun_with.value += other.growth.begun_with.value;
    std::ranges::move(other.growth.beside, std::back_inserter(growth.beside));
    held.add(data, std::move(other.held));
    growth.seen = std::min(growth.seen + other.growth.seen, static_cast<std::int64_t>(held.count()));
    containers.merge(other.containers);
    adding.merge(other.adding);
    for (auto& [stack, of_site] : other.sites) {
      const auto [site, is_new] = sites.try_emplace(stack, of_site);
      if (is_new) continue;
      site->second.bytes.value += of_site.bytes.value;
      site->second.first = std::min(site->second.first, of_site.first);
    }
  }

  /// @param needed_until  nullopt: to the end of the run
  void add(const TraceData& data, const OutlivingSite& site, const Living& living, std::optional<Sequence> needed_until,
           bool by_round, bool seen, bool frees, bool alone) {
    const Storage* first = living.replaced.empty() ? living.storage : living.replaced.front();
    const auto [of_site, is_new] = sites.try_emplace(living.storage->birth.stack, site.rounds, first->span.from_seq);
    of_site->second.bytes.value += living.bytes.value;
    frees = frees && needed_until;
    held.add(*living.storage, {.storage = living.storage->id,
                               .bytes = living.bytes,
                               .needed_until = needed_until.value_or(Sequence()),
                               .frees = frees,
                               .alone = alone && frees,
                               .by_round = by_round});
    if (seen) ++growth.seen;
    if (!living.replaced.empty()) growth.begun_with.value += living.replaced.front()->bytes.value;
    adding.insert(living.round_end);
    for (const Storage* each : living.replaced) {
      adding.insert(each->span.from_seq);
      growth.beside.push_back(
          {.storage = each->id, .bytes = each->bytes, .needed_until = begin_of(data, *each), .frees = frees});
    }
  }
};

/// Two readings found no root that leads to the storage: it is freed with the cycle. Former holders do not count.
bool only_cycles_hold(const TraceData& data, StorageId storage) {
  const auto paths = data.owners.paths_to(storage);
  return std::ranges::all_of(paths, [&](const OwnerPath& path) {
    return path.last_scan < paths.front().last_scan || cycle_text::is_cycle(data.text(path.path));
  });
}

/// The latest reading found only paths from one variable to the storage.
bool only_one_variable_leads(const TraceData& data, StorageId storage) {
  const auto paths = data.owners.paths_to(storage);
  return std::ranges::all_of(paths, [&](const OwnerPath& path) {
    return path.last_scan < paths.front().last_scan ||
           variable_at_root(data.text(path.path)) == variable_at_root(data.text(paths.front().path));
  });
}

/// True if the latest reading found the storage in a cycle, without proof yet, and `by` is something else. Then `by`
/// does not hold it.
bool is_in_another_cycle(const TraceData& data, const HeldBy& by, StorageId storage) {
  const auto paths = data.owners.paths_to(storage);
  if (paths.empty()) return false;
  const std::string_view latest = data.text(paths.front().path);
  if (!cycle_text::is_cycle(latest)) return false;
  return by.path == nullptr || holder_of(data.text(by.path->path)) != holder_of(latest);
}

/// False for a variable or an attribute that is not one of several alike: it has one value, so what others of the place
/// had is no evidence.
bool holds_many(const TraceData& data, const CommonNames& names, const SeveralAtOnce& several, const HeldBy& by) {
  if (!by.containers.empty()) return true;
  if (by.path == nullptr) return false;
  const std::string_view path = data.text(by.path->path);
  return !has_one_value(path) || names.of(path) != path || several.has(*by.path);
}

/// What holds a value that larger ones replace: what had the latest of those that were read. What else had some of
/// them, but not most, only worked with them.
HeldBy holder_of_replaced(const TraceData& data, const Living& living) {
  HeldBy latest;
  std::size_t same = 0, otherwise = 0;
  for (auto each = living.replaced.rbegin(); each != living.replaced.rend(); ++each) {
    HeldBy by = held_by(data, (*each)->id);
    if (latest.nobody()) latest = by;
    if (by.containers.empty() || by.containers != latest.containers) continue;
    ++same;
    otherwise += by.otherwise ? 1 : 0;
  }
  latest.otherwise &= 2 * otherwise > same;
  return latest;
}

/// Values that larger ones replace, by the paths to them.
class GrowingValues {
 public:
  GrowingValues(const TraceData& data, const GrowingSites& growing) : data_(data) {
    for (const auto& [stack, site] : growing.sites) {
      for (const Living& living : site.living) {
        if (const OwnerPath* path = path_of(living)) paths_.insert(data.text(path->path));
      }
    }
  }
  /// The attribute, of an object in the container, that had the only one of these values there: the container itself
  /// does not grow. Otherwise nullptr.
  [[nodiscard]] const OwnerPath* alone_in(std::string_view container, const Living& living) const {
    const OwnerPath* path = path_of(living);
    if (path == nullptr) return nullptr;
    const std::string_view text = data_.text(path->path);
    if (text.ends_with("]") || !end_of_path(text).attribute) return nullptr;
    // What leads to a part of a module reads as an attribute.
    if (container.ends_with(kModules)) container.remove_suffix(kModules.size());
    const auto is_there = [&](std::string_view each) { return is_on(container, each); };
    return is_there(text) && std::ranges::count_if(paths_, is_there) == 1 ? path : nullptr;
  }

 private:
  /// To the value that was read last; nullptr: none was read, or it is no such value.
  [[nodiscard]] const OwnerPath* path_of(const Living& living) const {
    if (living.replaced.empty()) return nullptr;
    const OwnerPath* path = data_.owners.path_to(living.storage->id);
    for (auto each = living.replaced.rbegin(); path == nullptr && each != living.replaced.rend(); ++each)
      path = data_.owners.path_to((*each)->id);
    return path;
  }

  const TraceData& data_;
  std::set<std::string_view> paths_;
};

CommonNames common_names(const TraceData& data, const Holding& holding, const GrowingSites& growing) {
  CommonNames names;
  for (const auto& [stack, site] : growing.sites) {
    for (const Living& living : site.living) {
      const OwnerPath* path = holding.of(living.storage->id).path;
      if (path != nullptr) names.add(holder_of(data.text(path->path)));
    }
  }
  names.complete();
  return names;
}

std::map<std::string, Group> groups_of(const TraceData& data, const GrowingSites& growing, const Holding& holding,
                                       const OwnUse& own_use) {
  std::map<std::string, Group> groups;
  const LatestValues latest(data, holding, growing);
  const CommonNames names = common_names(data, holding, growing);
  const SeveralAtOnce several(data, holding, growing);
  const GrowingValues values(data, growing);
  for (const auto& [stack, site] : growing.sites) {
    const UsualHolders usual(data, holding, site);
    const auto first = own_use.first_replaced().find(stack);
    for (const Living& living : site.living) {
      const HeldBy common = usual.of(living.position);
      // What a step or backward pass makes that does not end may still be dropped.
      if (!living.round_end.valid() && site.rounds->kind() != RoundKind::kCall && living.replaced.empty()) {
        const std::optional<Sequence> needed_until = own_use.until(living);
        if (!needed_until) continue;
        for (const ContainerId id : common.containers) {
          groups[std::string(holding.path_of(id))].growth.beside.push_back({.storage = living.storage->id,
                                                                            .bytes = living.bytes,
                                                                            .needed_until = *needed_until,
                                                                            .frees = !common.otherwise});
        }
        continue;
      }
      HeldBy by = latest.was_latest_value(living) ? HeldBy() : holding.of(living.storage->id);
      const bool seen = !by.nobody() && holding.is_seen(living.storage->id);
      if (by.nobody() && holds_many(data, names, several, common) &&
          !is_in_another_cycle(data, common, living.storage->id))
        by = common;
      if (by.nobody()) by = holder_of_replaced(data, living);
      if (by.containers.size() == 1) {
        if (const OwnerPath* path = values.alone_in(holding.path_of(by.containers[0]), living)) by = {{}, false, path};
      }
      const std::optional<Sequence> needed_until =
          living.replaced.empty() ? own_use.until(living) : begin_of(data, *living.storage);
      const bool by_round = living.replaced.empty() && own_use.is_by_round(living);
      for (const ContainerId id : by.containers) {
        const Container* container = data.owners.container(id);
        Group& group = groups[std::string(holding.path_of(id))];
        group.in_container = true;
        group.growth.holder = holding.path_of(id);
        group.growth.place = unless_empty(data.text(container->place));
        group.containers = holding.members_of(id);
        if (!holding.is_inside(id)) group.growth.type = unless_empty(data.text(container->type));
        const bool otherwise = common.nobody() ? by.otherwise : common.otherwise;
        group.add(data, site, living, needed_until, by_round, seen, !otherwise, by.containers.size() == 1);
      }
      if (!by.containers.empty()) continue;
      std::string variable = by.path != nullptr ? names.of(holder_of(data.text(by.path->path))) : "";
      const bool is_of_cpp = by.path == nullptr && has_cpp_stacks(data);
      if (is_of_cpp) variable = kHeldByCpp;
      const FrameId place = site_of(data, stack);
      Group& group = groups[variable.empty() ? " " + std::to_string(place.value) : variable];
      group.growth.holder = variable;
      if (by.path != nullptr) group.growth.place = unless_empty(data.text(by.path->place));
      const bool frees = is_of_cpp || (by.path != nullptr && (only_cycles_hold(data, by.path->storage) ||
                                                              only_one_variable_leads(data, by.path->storage)));
      group.add(data, site, living, needed_until, by_round, seen, frees, frees);
      if (first == own_use.first_replaced().end()) continue;
      group.growth.beside.push_back(first->second);
      group.growth.beside.back().frees = frees;
    }
  }
  return groups;
}

/// Makes groups of one cause one group, with the name of the one that has most.
std::vector<Group> by_cause(const TraceData& data, std::map<std::string, Group> groups) {
  std::vector<Group> joined;
  std::vector<Group> all;
  for (auto& [name, group] : groups) {
    // Otherwise these are storages of the last rounds, which may still be dropped.
    if (group.adding.size() >= kFewestAdding) all.push_back(std::move(group));
  }
  std::ranges::stable_sort(all, std::greater(), [](const Group& each) { return each.held.bytes(); });
  for (Group& group : all) {
    const auto same = std::ranges::find_if(joined, [&](const Group& each) { return each.is_of_one_cause(group); });
    if (same == joined.end()) {
      joined.push_back(std::move(group));
    } else {
      same->add(data, std::move(group));
    }
  }
  return joined;
}

/// What Python's collector has freed before was garbage until then, as what is in such cycles now. The growth has it
/// beside, because a peak contains it.
void add_collected(const TraceData& data, const GrowingSites& growing, Group& group) {
  for (const auto& [stack, of_site] : group.sites) {
    const Rounds& rounds = *of_site.rounds;
    if (rounds.kind() == RoundKind::kCall) continue;  // calls are those whose storages live on
    for (const Storage& storage : data.storages) {
      if (storage.birth.stack != stack || !storage.span.ended() || storage.span.to_seq > growing.end) continue;
      const Sequence round_end = rounds.end(rounds.at(storage.span.from_seq));
      if (!round_end.valid() || storage.span.to_seq <= round_end) continue;
      group.growth.beside.push_back(
          {.storage = storage.id, .bytes = storage.bytes, .needed_until = round_end, .frees = true});
    }
  }
}

/// When readings had found nothing else any more that had the storage; zero: never, or nothing else had it.
Sequence let_go(const TraceData& data, StorageId storage, const Holding& holding) {
  ScanId last;
  for (const OwnerPath& path : data.owners.paths_to(storage)) {
    if (!holding.keeps(data.text(path.path))) last = std::max(last, path.last_scan);
  }
  for (const Scan& scan : data.owners.scans) {
    if (last.valid() && last < scan.id) return scan.from;
  }
  return {};
}

/// True if the storage is one of those that a place makes more and more of.
bool is_of_growth(const GrowingSites& growing, const Storage& storage) {
  const auto site = growing.sites.find(storage.birth.stack);
  if (site == growing.sites.end()) return false;
  const auto birth = [](const Living& each) { return each.storage->span.from_seq; };
  const auto made_then = std::ranges::equal_range(site->second.living, storage.span.from_seq, {}, birth);
  return std::ranges::any_of(made_then, [&](const Living& each) { return each.storage == &storage; });
}

/// What the container alone has of places that do not grow: entries that only its first turns made.
void add_others_of_container(const TraceData& data, const GrowingSites& growing, const Holding& holding, Group& group) {
  const Rounds& rounds = *group.most_of_site().rounds;
  for (const Held& held : data.owners.held) {
    const auto has = [&](ContainerId each) { return group.containers.contains(each); };
    const bool alone = !held.otherwise && !held.containers.empty() && std::ranges::all_of(held.containers, has);
    const Storage* storage = alone ? data.storages.find(held.storage) : nullptr;
    if (storage == nullptr || !storage->span.covers(growing.end)) continue;
    if (is_of_growth(growing, *storage)) continue;
    const Sequence round_end = rounds.end(rounds.at(storage->span.from_seq));
    const Sequence until = std::max(round_end, let_go(data, storage->id, holding));
    if (!until.valid()) continue;
    group.growth.beside.push_back(
        {.storage = storage->id, .bytes = storage->bytes, .needed_until = until, .frees = true});
  }
}

/// True if the holder keeps what autograd saved for a backward.
bool keeps_graphs(const TraceData& data, const Growth& growth) {
  return std::ranges::any_of(growth.storages, [&](const GrowingStorage& each) {
    const Held* held = data.owners.of(each.storage);
    return held != nullptr && held->role == kSavedForBackward;
  });
}

/// The path by the holder to one of its storages; empty: none was found.
std::string_view way_to(const TraceData& data, const Growth& growth) {
  for (auto each = growth.storages.rbegin(); each != growth.storages.rend(); ++each) {
    for (const OwnerPath& path : data.owners.paths_to(each->storage)) {
      if (path.confirmed && is_on(growth.holder, data.text(path.path))) return data.text(path.path);
    }
  }
  return {};
}

/// Fills in the rounds of the place that made most: from the first one that added to the holder to the last of the run,
/// or to the last one that added, if many have followed.
void count_rounds(const Group& group, Growth& growth) {
  const Group::OfSite& most = group.most_of_site();
  growth.kind = most.rounds->kind();
  const std::int64_t open = most.rounds->kind() == RoundKind::kCall ? 1 : 0;  // the last call ends with the program
  growth.first_round = most.rounds->steps_before(most.rounds->at(most.first));
  const std::int64_t last = most.rounds->steps_before(most.rounds->at(*group.adding.rbegin()));
  const std::int64_t end = most.rounds->steps() + open;
  const std::int64_t apart =
      std::max<std::int64_t>(1, (last - growth.first_round) / static_cast<std::int64_t>(group.adding.size()));
  const bool has_ended = last > growth.first_round && end - last > kManyFollowed * apart;
  growth.rounds = (has_ended ? last : end) - growth.first_round;
}

/// True if one of the statements led to the birth of the storage, by calls or itself. A call may lead to the function
/// that stores, too. What that function makes in other statements is not the call's.
bool is_made_by(const TraceData& data, const StatementUse& program, StackId place, const std::set<std::string>& sites) {
  for (const Stack* stack = data.stacks.find(place); stack != nullptr; stack = data.stacks.find(stack->parent)) {
    const auto [source, number] = program.at(*stack);
    if (source == nullptr || source->statement_at(number) == 0) continue;
    const std::string file(short_path(data.text(data.frames.find(stack->frame)->file), 1));
    bool has_site = false;
    for (const PythonSource::Line& line : source->lines()) {
      if (line.function != source->lines()[number - 1].function) continue;
      if (!sites.contains(file + ":" + std::to_string(line.number))) continue;
      if (source->statement_at(line.number) == source->statement_at(number))
        return !source->returns_entry(number);  // its caller has the value longer
      has_site = true;
    }
    if (has_site) return false;
  }
  return false;
}

/// What the storing statement itself makes, as in `losses.append(v.clone())`, the program needs until it has made the
/// last of it in this round.
void free_at_storing(const TraceData& data, const OwnUse& own_use, Growth& growth) {
  std::set<std::string> sites;
  for (const auto* statements : {&growth.stored_by, &growth.called_at}) {
    for (const StoringStatement& each : *statements) {
      const bool is_given_nothing = each.text.ends_with("()");  // it makes what it keeps for itself: `opt.step()`
      if (!is_given_nothing) sites.insert(each.site);
    }
  }
  if (sites.empty()) return;
  std::map<StackId, bool> is_made;  // by place
  for (const GrowingSite& site : growth.sites)
    is_made[site.stack] = is_made_by(data, own_use.statements(), site.stack, sites);
  std::map<Sequence, Sequence> last_made;  // by the end of their use
  const auto each_made = [&](auto&& visit) {
    for (GrowingStorage& each : growth.storages) {
      const Storage* storage = data.storages.find(each.storage);
      if (!each.needed_until.valid() || own_use.is_seen(each.storage)) continue;
      if (is_made[storage->birth.stack]) visit(each, storage->span.from_seq);
    }
  };
  each_made([&](const GrowingStorage& each, Sequence made) {
    Sequence& last = last_made[each.needed_until];
    last = std::max(last, made);
  });
  each_made([&](GrowingStorage& each, Sequence) {
    each.needed_until = std::min(each.needed_until, last_made.at(each.needed_until));
  });
}

/// Only where graphs are kept does it help to detach.
std::string fix_of(const Growth& growth, bool in_container, bool has_graphs) {
  if (cycle_text::is_cycle(growth.holder) && growth.holder.find(cycle_text::kOfGradient) != std::string::npos)
    return "set .grad of these to None after use, or get it by torch.autograd.grad(): its graph leads to them";
  if (cycle_text::is_cycle(growth.holder)) return "cut one reference of the cycle: keep a detached copy";
  if (growth.holder == kHeldByCpp)
    return "let go of it where these lines keep it, or keep numbers: .item<float>(), or .detach()";
  if (growth.holder.find(kMoreLinks) != std::string::npos)
    return "keep fewer objects: cut the reference from each to the one before; or keep numbers in them";
  if (growth.begun_with.value > 0)
    return "keep as much of it as is used: the latest part, or numbers computed from the rest";
  if (!in_container || growth.type == "graph")
    return "add numbers to it, not tensors: .item(), or .detach() where no backward needs it";
  if (!has_graphs) return "remove what is not used any more, or keep a fixed number of entries; or keep numbers";
  return "store numbers, such as loss.item(), or detached copies; or clear it after use";
}

}  // namespace

namespace rules {

std::vector<Finding> grows(const TraceData& data, const Releases&) {
  std::vector<Finding> findings;
  GrowingSites growing = growing_sites(data);
  leave_out_used(data, growing);
  const Holding holding(data, growing);
  OwnUse own_use(data, holding, growing);
  std::map<StringId, SmallKept> small_kept;  // by device
  std::vector<SmallKept::Holder> small;      // of the findings
  for (Group& group : by_cause(data, groups_of(data, growing, holding, own_use))) {
    if (cycle_text::is_cycle(group.growth.holder)) add_collected(data, growing, group);
    if (!group.containers.empty()) add_others_of_container(data, growing, holding, group);
    Finding finding;
    finding.rule = "grows";
    finding.classes.emplace_back("D01");
    finding.title = "grows";
    Growth& growth = finding.growth.emplace(std::move(group.growth));
    const StringId device = device_of(data, group.held.first());
    const Sequence began = group.began();
    group.held.move_to(data, growth);
    free_what_the_same_ways_lead_to(data, group.in_container, growth);
    std::vector<StackId> made_at;
    for (const GrowingSite& site : growth.sites) made_at.push_back(site.stack);
    growth.take(stored_by(data, growth.holder, made_at, way_to(data, growth)));
    if (group.containers.empty() || growth.type == "graph") growth.used_at.clear();
    growth.used = own_use.runs_of(growth.used_at);
    free_at_storing(data, own_use, growth);
    need_as_long_as_keys(data, growth);
    small.push_back({group.small(data), device, group.most_of_site().rounds, growth.storages, began});
    small_kept.try_emplace(device, data, device, growing.end).first->second.add(small.back());
    count_rounds(group, growth);
    finding.bytes = group.held.bytes();
    const std::int64_t adding = growth.rounds - (growth.begun_with.value > 0 ? 1 : 0);
    growth.per_round = Bytes((finding.bytes.value - growth.begun_with.value) / std::max<std::int64_t>(1, adding));
    const bool is_unknown = growth.holder.empty() || growth.holder == kHeldByCpp;
    finding.confidence = is_unknown                                                         ? Confidence::kUnknown
                         : growth.seen == static_cast<std::int64_t>(growth.storages.size()) ? Confidence::kCertain
                                                                                            : Confidence::kPartial;
    const bool has_graphs = keeps_graphs(data, growth);
    finding.why = has_graphs ? "it keeps the autograd graphs of what was computed"
                             : "every part of the run adds to it, and hardly any of that is freed later";
    finding.fix = fix_of(growth, group.in_container, has_graphs);
    findings.push_back(std::move(finding));
  }
  for (std::size_t i = 0; i < findings.size(); ++i)
    findings[i].growth->of_sums = small_kept.at(small[i].device).gaps(small[i]);
  return findings;
}

}  // namespace rules
}  // namespace dcmt::analyzer
