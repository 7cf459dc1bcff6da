#include "analyzer/growth/usual_holders.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/source/python_source.h"
#include "analyzer/storages/holder_names.h"
#include "trace/base/cycle_text.h"

namespace dcmt::analyzer {
namespace {

/// The number of storages that readings must have found at a position before the one of the latest round.
constexpr std::size_t kFewestBefore = 2;
/// A reading must find storages of this many rounds in a container.
constexpr std::size_t kFewestAtOnce = 2;
/// Of a place's storages that are alive, the share that readings must have found in a container of which it is said
/// that it holds the others: one that changes while it is read may seem to have any of them.
constexpr double kLeastFound = 1.0 / 16;
constexpr std::string_view kGraphOf = ".grad_fn";  // of a variable

/// The variables among its holders that can have one value at a time.
std::set<std::string> variables_of(const TraceData& data, const HeldBy& by) {
  std::set<std::string> variables;
  for (const ContainerId id : by.containers) {
    const std::string_view path = data.text(data.owners.container(id)->path);
    if (is_plain_variable(path)) variables.emplace(path);
  }
  if (by.path != nullptr) {
    std::string_view holder = holder_of(data.text(by.path->path));
    if (holder.ends_with(kGraphOf)) holder.remove_suffix(kGraphOf.size());
    if (is_plain_variable(holder)) variables.emplace(holder);
  }
  return variables;
}

constexpr std::string_view kAnyEntry = "[*]";

/// A subscript, from its bracket to behind the other one.
struct Subscript {
  std::size_t from = 0, to = 0;
  friend auto operator<=>(const Subscript&, const Subscript&) = default;
};

/// In their order; what is in a subscript is a part of it.
std::vector<Subscript> subscripts_of(std::string_view path) {
  std::vector<Subscript> subscripts;
  int depth = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '[' && depth++ == 0) subscripts.push_back({i, path.size()});
    if (path[i] == ']' && depth > 0 && --depth == 0) subscripts.back().to = i + 1;
  }
  return subscripts;
}

/// "main: layers[*].maps" for "main: layers[2].maps": those for which it holds, by their number.
template <class Is>
std::string with_any(std::string_view path, Is is_any) {
  const std::vector<Subscript> subscripts = subscripts_of(path);
  std::string name;
  std::size_t at = 0;
  for (std::size_t i = 0; i < subscripts.size(); ++i) {
    if (!is_any(i)) continue;
    name.append(path.substr(at, subscripts[i].from - at)).append(kAnyEntry);
    at = subscripts[i].to;
  }
  return name.append(path.substr(at));
}

/// True if the latest reading found only a cycle that Python's collector can free.
bool only_waits_for_collector(const TraceData& data, StorageId storage) {
  const auto paths = data.owners.paths_to(storage);
  if (paths.empty()) return false;
  const std::string_view latest = data.text(paths.front().path);
  return cycle_text::is_cycle(latest) && holder_of(latest).empty();
}

/// The variable or attribute whose value the storage was, when it was read last.
const OwnerPath* as_value(const TraceData& data, StorageId storage) {
  const HeldBy by = held_by(data, storage);
  return by.path != nullptr && has_one_value(data.text(by.path->path)) ? by.path : nullptr;
}

}  // namespace

HeldBy held_by(const TraceData& data, StorageId storage) {
  const Held* held = data.owners.of(storage);
  if (held == nullptr) return {};
  HeldBy by{held->containers, held->otherwise, nullptr};
  if (by.containers.empty()) by.path = data.owners.path_to(storage);
  return by;
}

Holding::Holding(const TraceData& data, const GrowingSites& growing) : data_(data) {
  std::map<std::string_view, ScanId> latest;  // by variable: the last reading that found a value
  for (const auto& [stack, site] : growing.sites) add_chains(site);
  chains_.complete();
  for (const auto& [stack, site] : growing.sites) add_siblings(site);
  join_siblings();
  for (const auto& [stack, site] : growing.sites) join_other_ways(site);
  for (const auto& [container, name] : names_) members_.emplace(container, find_members(container));
  for (const auto& [stack, site] : growing.sites) {
    add_adding(site);
    add_returned(site);
    for (const Living& living : site.living) {
      const OwnerPath* path = as_value(data, living.storage->id);
      if (path == nullptr) continue;
      ScanId& scan = latest[data.text(path->path)];
      scan = std::max(scan, path->last_scan);
    }
  }
  for (const auto& [stack, site] : growing.sites) {
    for (const Living& living : site.living) {
      const OwnerPath* path = as_value(data, living.storage->id);
      if (path != nullptr && path->last_scan < latest.at(data.text(path->path))) earlier_.insert(living.storage->id);
    }
  }
}

bool is_on(std::string_view container, std::string_view path) {
  while (!container.empty()) {
    if (container.starts_with(kAnyEntry) && path.starts_with('[')) {
      container.remove_prefix(kAnyEntry.size());
      path.remove_prefix(std::min(path.find(']'), path.size() - 1) + 1);
      continue;
    }
    if (path.empty() || container.front() != path.front()) return false;
    container.remove_prefix(1);
    path.remove_prefix(1);
  }
  return path.empty() || !is_of_name(path.front());
}

void Holding::add_chains(const OutlivingSite& site) {
  for (const Living& living : site.living) {
    for (const FoundIn& each : data_.owners.where_found(living.storage->id))
      chains_.add(data_.text(data_.owners.container(each.container)->path));
  }
}

std::string Holding::name_of(ContainerId container) const {
  return chains_.of(data_.text(data_.owners.container(container)->path));
}

void Holding::add_siblings(const OutlivingSite& site) {
  std::map<std::string, std::map<ScanId, std::set<ContainerId>>> alike;
  for (const Living& living : site.living) {
    for (const FoundIn& each : data_.owners.where_found(living.storage->id))
      alike[with_any(name_of(each.container), [](std::size_t) { return true; })][each.scan].insert(each.container);
  }
  for (const auto& [shape, found] : alike) {
    if (std::ranges::all_of(found, [](const auto& each) { return each.second.size() < kFewestAtOnce; })) continue;
    std::set<ContainerId> siblings;
    for (const auto& [scan, there] : found) siblings.insert(there.begin(), there.end());
    const auto shares = [&](const std::set<ContainerId>& others) {
      return std::ranges::any_of(others, [&](ContainerId each) { return siblings.contains(each); });
    };
    for (auto others = siblings_.begin(); others != siblings_.end();) {
      if (!shares(*others)) {
        ++others;
        continue;
      }
      siblings.merge(*others);
      others = siblings_.erase(others);
    }
    siblings_.push_back(std::move(siblings));
  }
}

std::string Holding::common_name_of(const std::set<ContainerId>& siblings) const {
  const std::string first = name_of(*siblings.begin());
  const std::vector<Subscript> subscripts = subscripts_of(first);
  std::vector<bool> differs(subscripts.size());
  for (const ContainerId each : siblings) {
    const std::string other = name_of(each);
    const std::vector<Subscript> of_other = subscripts_of(other);
    for (std::size_t i = 0; i < std::min(differs.size(), of_other.size()); ++i) {
      const auto text = [i](const std::string& path, const std::vector<Subscript>& all) {
        return path.substr(all[i].from, all[i].to - all[i].from);
      };
      differs[i] = differs[i] || text(first, subscripts) != text(other, of_other);
    }
  }
  std::string name = with_any(first, [&](std::size_t i) { return differs[i]; });
  while (name.ends_with(kAnyEntry)) name.resize(name.size() - kAnyEntry.size());
  return name;
}

void Holding::join_siblings() {
  for (const std::set<ContainerId>& siblings : siblings_) {
    for (const ContainerId each : siblings) joined_.emplace(each, *siblings.begin());
    names_.emplace(*siblings.begin(), common_name_of(siblings));
  }
}

/// The variable of a loop over siblings leads to one after the other. What a reading finds through it, others find
/// through the siblings, and none through both. What leads to several of them at once is no such variable.
void Holding::join_other_ways(const OutlivingSite& site) {
  std::map<ContainerId, std::set<ContainerId>> same;
  std::map<ContainerId, std::map<std::pair<ScanId, ScanId>, std::set<ContainerId>>> at_once;
  std::set<ContainerId> others;  // those that one reading found beside the siblings
  for (const Living& living : site.living) {
    const auto found = data_.owners.where_found(living.storage->id);
    for (const FoundIn& each : found) {
      if (joined_.contains(each.container)) continue;
      for (const FoundIn& sibling : found) {
        if (!joined_.contains(sibling.container)) continue;
        same[each.container].insert(joined(sibling.container));
        std::set<ContainerId>& siblings = at_once[each.container][{each.scan, sibling.scan}];
        siblings.insert(sibling.container);
        if (sibling.scan == each.scan || siblings.size() > 1) others.insert(each.container);
      }
    }
  }
  for (const auto& [container, as] : same) {
    if (as.size() == 1 && !others.contains(container)) joined_[container] = *as.begin();
  }
}

ContainerId Holding::joined(ContainerId container) const {
  const auto found = joined_.find(container);
  return found != joined_.end() ? found->second : container;
}

std::string_view Holding::path_of(ContainerId container) const {
  const auto name = names_.find(joined(container));
  return name != names_.end() ? std::string_view(name->second) : data_.text(data_.owners.container(container)->path);
}

std::set<ContainerId> Holding::members_of(ContainerId container) const {
  const auto members = members_.find(joined(container));
  return members != members_.end() ? members->second : std::set{container};
}

std::set<ContainerId> Holding::find_members(ContainerId container) const {
  std::set<ContainerId> siblings;
  for (const Container& each : data_.owners.containers) {
    if (data_.text(each.path) == path_of(container)) return {each.id};
    if (joined(each.id) == joined(container)) siblings.insert(each.id);
  }
  return siblings;
}

bool Holding::is_inside(ContainerId container) const {
  const std::string_view path = data_.text(data_.owners.container(joined(container))->path);
  return path != path_of(container) && path.starts_with(path_of(container));
}

void Holding::add_adding(const OutlivingSite& site) {
  std::map<ContainerId, std::map<Sequence, Series>> found;
  for (const Living& living : site.living) {
    for (const FoundIn& each : data_.owners.where_found(living.storage->id)) {
      Series& series = found[joined(each.container)][begin_of(each.scan)];
      if (series.empty() || series.back() != &living) series.push_back(&living);
    }
  }
  for (const auto& [container, by_begin] : found) {
    const auto& [latest, last] = *by_begin.rbegin();
    std::ptrdiff_t gone = 0;
    for (const auto& [begin, series] : by_begin) {
      if (begin == latest) break;
      gone += std::ranges::count_if(series, [&](const Living* each) { return !leads_to(*each, container, latest); });
    }
    std::set<std::size_t> rounds;
    for (const Living* each : last) rounds.insert(each->round);
    const bool adds = rounds.size() >= kFewestAtOnce && gone <= std::ssize(last);
    if (adds || site.replaces()) adding_.insert(container);
  }
}

Sequence Holding::begin_of(ScanId scan) const {
  const Scan* found = data_.owners.scan(scan);
  return found != nullptr ? found->from : Sequence();
}

bool Holding::leads_to(const Living& living, ContainerId container, Sequence begin) const {
  const std::string_view name = path_of(container);
  return std::ranges::any_of(data_.owners.paths_to(living.storage->id), [&](const OwnerPath& path) {
    return path.confirmed && begin_of(path.last_scan) >= begin && is_on(name, data_.text(path.path));
  });
}

void Holding::add_returned(const OutlivingSite& site) {
  Series waiting;
  std::map<ScanId, std::map<ContainerId, std::size_t>> counts;
  for (const Living& living : site.living) {
    if (!only_waits_for_collector(data_, living.storage->id)) continue;
    waiting.push_back(&living);
    for (const FoundIn& each : data_.owners.where_found(living.storage->id))
      ++counts[each.scan][joined(each.container)];
  }
  // The last reading that found any; an earlier one if readings have missed what later ones found again.
  for (auto at = counts.rbegin(); at != counts.rend(); ++at) {
    const auto& [id, found] = *at;
    const Scan* scan = data_.owners.scan(id);
    if (scan == nullptr) return;
    const auto most = std::ranges::max_element(found, {}, [](const auto& each) { return each.second; });
    const auto born = static_cast<std::size_t>(
        std::ranges::count_if(waiting, [&](const Living* each) { return each->storage->span.from_seq <= scan->from; }));
    if (most->second < kFewestBirths || 2 * most->second < born) {
      if (!misses_some(waiting, most->first)) return;
      continue;
    }
    for (const Living* each : waiting) {
      const auto where = data_.owners.where_found(each->storage->id);
      const bool was_there = std::ranges::any_of(
          where, [&](const FoundIn& in) { return in.scan >= id && joined(in.container) == most->first; });
      if (was_there || each->storage->span.from_seq > scan->from)
        returned_[each->storage->id] = {most->first, was_there};
    }
    return;
  }
}

bool Holding::misses_some(const Series& series, ContainerId container) const {
  const std::string_view name = path_of(container);
  const auto is_missed = [&](const Living* living) {
    std::set<ScanId> found;
    for (const OwnerPath& path : data_.owners.paths_to(living->storage->id)) {
      if (!is_on(name, data_.text(path.path))) continue;
      for (const Scan& scan : data_.owners.scans) {
        if (path.scan <= scan.id && scan.id <= path.last_scan) found.insert(scan.id);
      }
    }
    return found.size() > 1 && std::ranges::any_of(data_.owners.scans, [&](const Scan& scan) {
             return *found.begin() < scan.id && scan.id < *found.rbegin() && !found.contains(scan.id);
           });
  };
  return 2 * std::ranges::count_if(series, is_missed) > std::ssize(series);
}

HeldBy Holding::of(StorageId storage) const {
  if (const auto returned = returned_.find(storage); returned != returned_.end())
    return {{returned->second.container}, false, nullptr};
  if (earlier_.contains(storage)) return {};
  HeldBy by = held_by(data_, storage);
  if (by.containers.empty()) return on_the_way(by, storage);
  for (ContainerId& each : by.containers) each = joined(each);
  std::ranges::sort(by.containers);
  by.containers.erase(std::ranges::unique(by.containers).begin(), by.containers.end());
  std::erase_if(by.containers, [this](ContainerId id) { return !adding_.contains(id); });
  return by.containers.empty() ? HeldBy() : by;
}

HeldBy Holding::on_the_way(HeldBy by, StorageId storage) const {
  if (by.path == nullptr) return by;
  const std::string_view path = data_.text(by.path->path);
  std::optional<ContainerId> outermost;
  for (const ContainerId each : adding_) {
    if (is_on(path_of(each), path) && (!outermost || path_of(each).size() < path_of(*outermost).size()))
      outermost = each;
  }
  if (!outermost) return by;
  const auto leads_past = [&](const OwnerPath& each) {
    return each.last_scan == by.path->last_scan && !is_on(path_of(*outermost), data_.text(each.path));
  };
  return {{*outermost}, std::ranges::any_of(data_.owners.paths_to(storage), leads_past), nullptr};
}

bool Holding::keeps(std::string_view path) const {
  const auto leads = [&](ContainerId id) { return is_on(data_.text(data_.owners.container(id)->path), path); };
  return std::ranges::any_of(adding_, [&](ContainerId id) { return is_on(path_of(id), path); }) ||
         std::ranges::any_of(siblings_, [&](const std::set<ContainerId>& siblings) {
           return adding_.contains(*siblings.begin()) && std::ranges::any_of(siblings, leads);
         });
}

bool Holding::is_seen(StorageId storage) const {
  const auto returned = returned_.find(storage);
  return returned != returned_.end() ? returned->second.seen : !of(storage).nobody();
}

UsualHolders::UsualHolders(const TraceData& data, const Holding& holding, const OutlivingSite& site) {
  std::map<HeldBy, Sequence> read_at;
  for (const Living& living : site.living) {
    const HeldBy by = holding.of(living.storage->id);
    if (by.nobody()) continue;
    ++counts_[by];
    ++at_position_[living.position][by];
    for (const FoundIn& each : data.owners.where_found(living.storage->id)) {
      if (const Scan* scan = data.owners.scan(each.scan)) read_at[by] = std::max(read_at[by], scan->from);
    }
  }
  const auto is_by_chance = [&](const HeldBy& by, std::int64_t found) {
    if (by.containers.empty()) return false;
    const Sequence at = read_at[by];
    const auto alive =
        std::ranges::count_if(site.living, [at](const Living& living) { return living.storage->span.covers(at); });
    return static_cast<double>(found) < kLeastFound * static_cast<double>(alive);
  };
  for (auto each = counts_.begin(); each != counts_.end();) {
    if (!is_by_chance(each->first, each->second)) {
      ++each;
      continue;
    }
    for (auto& [position, counts] : at_position_) counts.erase(each->first);
    each = counts_.erase(each);
  }
  std::erase_if(at_position_, [](const auto& each) { return each.second.empty(); });
}

HeldBy UsualHolders::of(Position position) const {
  const auto here = at_position_.find(position);
  const Counts& counts = here != at_position_.end() ? here->second : counts_;
  const auto most = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  return most != counts.end() ? most->first : HeldBy();
}

LatestValues::LatestValues(const TraceData& data, const Holding& holding, const GrowingSites& growing) {
  for (const auto& [stack, site] : growing.sites) {
    for (const Series& series : series_of(site)) {
      Series read;
      std::ranges::copy_if(series, std::back_inserter(read),
                           [&](const Living* each) { return !holding.of(each->storage->id).nobody(); });
      // What a variable or attribute had while others of the series are in containers.
      const auto in_container = [&](const Living* each) { return !holding.of(each->storage->id).containers.empty(); };
      if (std::ranges::any_of(read, in_container)) {
        for (const Living* each : read) {
          if (each == series.back() || in_container(each)) continue;
          const OwnerPath* path = holding.of(each->storage->id).path;
          if (path != nullptr && has_one_value(data.text(path->path))) read_as_latest_.insert(each->storage->id);
        }
      }
      if (read.size() <= kFewestBefore || read.back() == series.back()) continue;
      std::set<std::string> variables = variables_of(data, holding.of(read.back()->storage->id));
      for (auto each = read.begin(); each + 1 != read.end(); ++each) {
        for (const std::string& other : variables_of(data, holding.of((*each)->storage->id))) variables.erase(other);
      }
      if (!variables.empty()) read_as_latest_.insert(read.back()->storage->id);
    }
  }
}

}  // namespace dcmt::analyzer
