#include "analyzer/rules/usual_holders.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/rules/python_source.h"
#include "analyzer/storages/holder_names.h"

namespace dcmt::analyzer {
namespace {

/// The number of storages that readings must have found at a position before the one of the latest round.
constexpr std::size_t kFewestBefore = 2;
/// A reading must find storages of this many rounds in a container.
constexpr std::size_t kFewestAtOnce = 2;
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

/// The names that siblings may have in common, by their last subscript first: "main: states" for "main: states['a']",
/// "main: layers[*].maps" for "main: layers[2].maps".
std::vector<std::string> common_names_of(std::string_view path) {
  std::vector<std::string> names;
  std::size_t end = 0;
  int depth = 0;
  for (std::size_t i = path.size(); i-- > 0;) {
    if (path[i] == ']' && depth++ == 0) end = i + 1;
    if (path[i] != '[' || depth == 0 || --depth != 0) continue;
    std::string name(path.substr(0, i));
    if (end != path.size()) name.append(kAnyEntry).append(path.substr(end));
    names.push_back(std::move(name));
  }
  return names;
}

/// True if the latest reading found only a cycle that Python's collector can free.
bool only_waits_for_collector(const TraceData& data, StorageId storage) {
  const auto paths = data.owners.paths_to(storage);
  if (paths.empty()) return false;
  const std::string_view latest = data.text(paths.front().path);
  return latest.starts_with("cycle ") && holder_of(latest).empty();
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
  for (const auto& [stack, site] : growing.sites) join_siblings(site);
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

void Holding::join_siblings(const OutlivingSite& site) {
  using ByScan = std::map<ScanId, std::set<ContainerId>>;
  std::vector<std::map<std::string, ByScan>> found;  // by the subscript in which they differ, the last one first
  for (const Living& living : site.living) {
    for (const FoundIn& each : data_.owners.where_found(living.storage->id)) {
      std::vector<std::string> names = common_names_of(data_.text(data_.owners.container(each.container)->path));
      found.resize(std::max(found.size(), names.size()));
      for (std::size_t i = 0; i < names.size(); ++i) found[i][std::move(names[i])][each.scan].insert(each.container);
    }
  }
  for (const auto& of_subscript : found) {
    for (const auto& [name, by_scan] : of_subscript) join(name, by_scan);
  }
  join_other_ways(site);
}

void Holding::join(const std::string& name, const std::map<ScanId, std::set<ContainerId>>& found) {
  if (std::ranges::all_of(found, [](const auto& each) { return each.second.size() < kFewestAtOnce; })) return;
  for (const auto& [scan, siblings] : found) {
    for (const ContainerId each : siblings) {
      const ContainerId first = stands_for_in_.try_emplace(name, each).first->second;
      if (joined_.try_emplace(each, first).second) names_.try_emplace(first, name);
    }
  }
}

/// The variable of a loop over siblings leads to one after the other. What a reading finds through it, others find
/// through the siblings, and none through both.
void Holding::join_other_ways(const OutlivingSite& site) {
  std::map<ContainerId, std::set<ContainerId>> same;
  std::set<ContainerId> others;  // those that one reading found beside the siblings
  for (const Living& living : site.living) {
    const auto found = data_.owners.where_found(living.storage->id);
    for (const FoundIn& each : found) {
      if (joined_.contains(each.container)) continue;
      for (const FoundIn& sibling : found) {
        if (!joined_.contains(sibling.container)) continue;
        same[each.container].insert(joined(sibling.container));
        if (sibling.scan == each.scan) others.insert(each.container);
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

bool Holding::are_entries(ContainerId container) const {
  const auto name = names_.find(joined(container));
  return name != names_.end() && name->second.find(kAnyEntry) == std::string::npos;
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
  ScanId last;
  for (const Living& living : site.living) {
    if (!only_waits_for_collector(data_, living.storage->id)) continue;
    waiting.push_back(&living);
    for (const FoundIn& each : data_.owners.where_found(living.storage->id)) last = std::max(last, each.scan);
  }
  const Scan* scan = data_.owners.scan(last);
  if (scan == nullptr) return;
  std::map<ContainerId, std::size_t> counts;
  std::size_t born = 0;
  for (const Living* each : waiting) {
    born += each->storage->span.from_seq <= scan->from ? 1 : 0;
    for (const FoundIn& found : data_.owners.where_found(each->storage->id)) {
      if (found.scan == last) ++counts[joined(found.container)];
    }
  }
  const auto most = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  if (most->second < kFewestBirths || 2 * most->second < born) return;
  for (const Living* each : waiting) {
    const auto found = data_.owners.where_found(each->storage->id);
    const bool was_there = std::ranges::any_of(
        found, [&](const FoundIn& in) { return in.scan == last && joined(in.container) == most->first; });
    if (was_there || each->storage->span.from_seq > scan->from) returned_[each->storage->id] = {most->first, was_there};
  }
}

HeldBy Holding::of(StorageId storage) const {
  if (const auto returned = returned_.find(storage); returned != returned_.end())
    return {{returned->second.container}, false, nullptr};
  if (earlier_.contains(storage)) return {};
  HeldBy by = held_by(data_, storage);
  if (by.containers.empty()) return by;
  for (ContainerId& each : by.containers) each = joined(each);
  std::ranges::sort(by.containers);
  by.containers.erase(std::ranges::unique(by.containers).begin(), by.containers.end());
  std::erase_if(by.containers, [this](ContainerId id) { return !adding_.contains(id); });
  return by.containers.empty() ? HeldBy() : by;
}

bool Holding::keeps(std::string_view path) const {
  return std::ranges::any_of(adding_, [&](ContainerId id) { return is_on(path_of(id), path); });
}

bool Holding::is_seen(StorageId storage) const {
  const auto returned = returned_.find(storage);
  return returned != returned_.end() ? returned->second.seen : !of(storage).nobody();
}

UsualHolders::UsualHolders(const Holding& holding, const OutlivingSite& site) {
  for (const Living& living : site.living) {
    const HeldBy by = holding.of(living.storage->id);
    if (by.nobody()) continue;
    ++counts_[by];
    ++at_position_[living.position][by];
  }
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
