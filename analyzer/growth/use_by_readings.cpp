#include "analyzer/growth/use_by_readings.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "analyzer/source/common_names.h"
#include "analyzer/source/holder_path.h"
#include "analyzer/storages/holder_names.h"
#include "trace/base/cycle_text.h"

namespace dcmt::analyzer {
namespace {

/// Some readings come between a statement and the record by which it is seen to have run.
constexpr std::size_t kMostApart = 1;
/// Of the latest of a place, what has them has this share, unless others go first than those that came first.
constexpr double kNearlyAll = 0.9;
/// Where more storages of a place than one of so many have a size of their own, sizes are no kinds.
constexpr std::size_t kMostSizes = 4;
/// What a tee has ahead of its slower iterator is a part of what that one has.
constexpr std::string_view kAhead = " (ahead)";
/// A graph of more earlier passes was kept, not used.
constexpr std::size_t kMostPasses = 1;
/// Of one series that differ by more than entries.
constexpr std::size_t kMostPaths = 256;

std::size_t changes_by(const NextValues::Changes& changes, Sequence at) {
  return static_cast<std::size_t>(std::ranges::upper_bound(changes.at, at) - changes.at.begin());
}

/// The same without repeated links: "main: last.previous.value" for "main: last.previous.previous.value".
std::string without_repeats(std::string_view path) {
  std::string key = without_entries(path);
  for (std::size_t at = key.find('.'); at != std::string::npos;) {
    const std::size_t next = key.find('.', at + 1);
    if (next == std::string::npos) break;
    const std::string_view link = std::string_view(key).substr(at, next - at);
    if (std::string_view(key).substr(next).starts_with(link)) {
      key.erase(at, link.size());
    } else {
      at = next;
    }
  }
  return key;
}

/// "decode" of "main.failures[0].__traceback__.tb_next.tb_frame decode (main.py:43): image"; else empty.
std::string ended_call(std::string_view path) {
  constexpr std::string_view kFrame = ".tb_frame ";
  const std::size_t at = path.rfind(kFrame);
  if (at == std::string_view::npos) return {};
  path.remove_prefix(at + kFrame.size());
  return std::string(path.substr(0, path.find(" (")));
}

/// True if `path` is `other` with one more reference in between, as from one object of a chain to the one before.
bool has_one_more_link(std::string_view path, std::string_view other) {
  if (path.size() <= other.size()) return false;
  std::size_t same = 0;
  while (same < other.size() && path[same] == other[same]) ++same;
  for (std::size_t at = same + 1; at-- > 0;) {
    const std::string_view link = path.substr(at, path.size() - other.size());
    if (path.substr(at + link.size()) != other.substr(at)) break;
    if (link.starts_with('.') && !link.starts_with(".grad_fn") && link != "._base") return true;
  }
  return false;
}

}  // namespace

Bytes UseByReadings::kind_of(const Storage& storage) const { return sizes_vary_ ? Bytes() : storage.bytes; }

void UseByReadings::begin(const OutlivingSite& site) {
  births_.clear();
  latest_.clear();
  std::set<Bytes> sizes;
  for (const Living& each : site.living) sizes.insert(each.storage->bytes);
  sizes_vary_ = kMostSizes * sizes.size() > site.living.size();
  std::map<Kind, std::map<ScanId, FirstAndLast>> found;
  for (const Living& each : site.living) {
    const Bytes kind = kind_of(*each.storage);
    const Sequence birth = each.storage->span.from_seq;
    const std::size_t number = births_[kind].size();
    births_[kind].push_back(birth);
    for (const OwnerPath& path : data_.owners.paths_to(each.storage->id)) {
      const std::string_view text = data_.text(path.path);
      if (!path.confirmed || text.find(kAhead) != std::string_view::npos) continue;
      auto& at = found[{without_repeats(text), kind}];
      for (const Scan& scan : data_.owners.scans) {
        const bool has_it = path.scan <= scan.id && scan.id <= path.last_scan && !scan.ended && birth <= scan.from;
        if (!has_it) continue;
        const auto [numbers, is_new] = at.try_emplace(scan.id, FirstAndLast{number, number});
        numbers->second.count += !is_new && numbers->second.last != number ? 1 : 0;
        numbers->second.last = number;
      }
    }
  }
  for (const auto& [kind, at] : found) {
    if (const Latest latest = latest_of(births_.at(kind.second), at); latest.most > 0) latest_.emplace(kind, latest);
  }
}

UseByReadings::Latest UseByReadings::latest_of(const std::vector<Sequence>& births,
                                               const std::map<ScanId, FirstAndLast>& found) const {
  const auto made_by = [&](const Scan& scan) {
    return static_cast<std::size_t>(std::ranges::upper_bound(births, scan.from) - births.begin());
  };
  Latest latest;
  std::size_t at_once = 0;
  bool lets_go = false;  // a reading that found most found no more of them, although there were
  for (const auto& [id, numbers] : found) {
    const std::size_t made = made_by(*data_.owners.scan(id)), has = made - numbers.first;
    if (has > latest.most) lets_go = false;
    latest.most = std::max(latest.most, has);
    at_once = std::max(at_once, numbers.last - numbers.first + 1);
    lets_go |= has == latest.most && made >= 2 * has;
  }
  if (!lets_go) return {};
  for (const auto& [id, numbers] : found) {
    const Scan& scan = *data_.owners.scan(id);
    const std::size_t made = made_by(scan);
    const bool has_most = made - numbers.first == latest.most;
    latest.in_order &= !has_most || static_cast<double>(numbers.count) >= kNearlyAll * static_cast<double>(latest.most);
    const bool is_gone = made >= latest.most && made - numbers.first < latest.most;
    // What the latest replaces is there until that comes.
    const bool is_replaced = at_once < latest.most && numbers.last + 1 == made;
    if (is_gone || is_replaced)
      latest.gone_after = std::min(latest.gone_after, scan.from.value - births[made - 1].value);
  }
  return latest;
}

std::optional<Sequence> UseByReadings::by_births(const Living& living, std::string_view path) const {
  const auto latest = latest_.find({without_repeats(path), kind_of(*living.storage)});
  if (latest == latest_.end()) return std::nullopt;
  const std::vector<Sequence>& births = births_.at(latest->first.second);
  const auto at = std::ranges::lower_bound(births, living.storage->span.from_seq) - births.begin();
  const std::size_t next = static_cast<std::size_t>(at) + latest->second.most;
  if (next >= births.size()) return Sequence();
  const std::int64_t turn = births[next].value - births[next - 1].value;
  return Sequence(births[next - 1].value + std::min(turn, latest->second.gone_after));
}

bool UseByReadings::add_by_births(const Series& series, std::string_view path) {
  bool is_known = false;
  for (const Living* each : series) {
    const std::optional<Sequence> until = by_births(*each, path);
    is_known |= until.has_value();
    if (until && until->valid()) note(*each, path, *until);
  }
  return is_known;
}

std::set<std::string> UseByReadings::ended_calls(StorageId storage) const {
  std::set<std::string> functions;
  for (const OwnerPath& path : data_.owners.paths_to(storage)) {
    if (std::string function = ended_call(data_.text(path.path)); !function.empty()) functions.insert(function);
  }
  return functions;
}

void UseByReadings::add_ended_calls(const Series& series) {
  std::set<std::string> functions;
  for (const Living* each : series) functions.merge(ended_calls(each->storage->id));
  for (const std::string& function : functions) {
    for (const Living* each : series) {
      if (const Sequence end = next_.end_of_call(function, *each->storage); end.valid()) note(*each, function, end);
    }
  }
}

bool UseByReadings::is_of_ended_call(const Storage& storage) const {
  return std::ranges::any_of(ended_calls(storage.id),
                             [&](const std::string& function) { return next_.end_of_call(function, storage).valid(); });
}

bool UseByReadings::has_latest(const Living& living, std::string_view path) const {
  return latest_.contains({without_repeats(path), kind_of(*living.storage)});
}

bool UseByReadings::goes_in_order(const Living& living, std::string_view path) const {
  const auto latest = latest_.find({without_repeats(path), kind_of(*living.storage)});
  return latest != latest_.end() && latest->second.in_order;
}

bool UseByReadings::is_of_cycle(const Living& living) const {
  const auto paths = data_.owners.paths_to(living.storage->id);
  return !paths.empty() && cycle_text::is_cycle(data_.text(paths.front().path));
}

void UseByReadings::note(const Living& living, std::string_view path, Sequence until) {
  Sequence& last = until_[living.storage->id];
  last = std::max(last, until);
  variables_[living.storage->id].emplace(variable_at_root(path));
}

bool UseByReadings::is_of_past_graph(const OwnerPath& path) const {
  constexpr std::string_view kSavedField = "._saved_";
  const auto is_saved = [&](const OwnerPath& each) {
    return data_.text(each.path).find(kSavedField) != std::string_view::npos;
  };
  const auto paths = data_.owners.paths_to(path.storage);
  return is_saved(path) && !is_saved(paths.front()) && path.last_scan < paths.front().last_scan;
}

UseByReadings::ByPath UseByReadings::found(const Series& series) const {
  std::map<std::string, std::string_view> first;  // of those that differ in entries only
  ByPath found;
  for (const Living* each : series) {
    for (const OwnerPath& path : data_.owners.paths_to(each->storage->id)) {
      const std::string_view text = data_.text(path.path);
      const bool is_link = without_links(text).has_value();
      const bool is_kept = is_link || (holding_.keeps(text) && !is_of_past_graph(path));
      const bool counts = path.confirmed && !is_argument(text) && !cycle_text::is_cycle(text);
      if (!counts || (is_kept && !has_latest(*each, text)) || (is_link && !is_of_cycle(*each))) continue;
      const std::string_view name = first.try_emplace(without_entries(text), text).first->second;
      for (const Scan& scan : data_.owners.scans) {
        if (path.scan <= scan.id && scan.id <= path.last_scan && !scan.ended) found[name].push_back({each, &scan});
      }
    }
  }
  return found;
}

bool UseByReadings::is_argument(std::string_view path) const {
  return path.find(": ") != std::string_view::npos && path.substr(0, path.find('[')) == variable_at_root(path) &&
         next_.is_library(path.substr(0, path.find(": ")));
}

std::optional<UseByReadings::Values> UseByReadings::values_long(const NextValues::Changes& changes,
                                                                const Series& series,
                                                                const std::vector<Found>& found) const {
  std::size_t least = changes.at.size(), most = 0;
  for (const auto& [living, scan] : found) {
    const std::size_t by_then = changes_by(changes, scan->from);
    // The statement may have run before the reading, although the record by which it is seen comes after it.
    const bool may_have_run = by_then < changes.at.size() && next_.nothing_between(scan->from, changes.at[by_then]);
    const std::size_t passed = by_then - changes_by(changes, living->storage->span.from_seq);
    least = std::min(least, passed + (may_have_run ? 1 : 0));
    most = std::max(most, passed);
  }
  least = std::min(least, most);
  if (!changes.complete) {  // unless each has a change of its own
    for (std::size_t i = 0; i + 1 < series.size(); ++i) {
      if (changes_by(changes, series[i]->storage->span.from_seq) ==
          changes_by(changes, series[i + 1]->storage->span.from_seq))
        return std::nullopt;
    }
  }
  // What one reading alone finds with many values after it may be an entry that the program has taken up again.
  if (most > kMostApart && found.size() == 1) return std::nullopt;
  return most - least <= kMostApart ? std::optional(Values{most, most == least}) : std::nullopt;
}

std::optional<std::size_t> UseByReadings::passes_long(const NextValues::Changes& node,
                                                      const std::vector<Found>& found) {
  std::optional<std::size_t> passes;
  for (const auto& [living, scan] : found) {
    const std::size_t passed = changes_by(node, scan->from) - changes_by(node, living->storage->span.from_seq);
    if (passed > kMostPasses || passed != passes.value_or(passed)) return std::nullopt;
    passes = passed;
  }
  return passes;
}

void UseByReadings::add(const Series& series, std::string_view path, const std::vector<Found>& found) {
  std::vector<std::pair<const NextValues::Changes*, std::size_t>> parts;
  bool is_exact = true;
  const bool is_keeper = holding_.keeps(path);
  for (const NextValues::Changes* changes : is_keeper ? std::vector<const NextValues::Changes*>() : next_.on(path)) {
    const std::optional<Values> values = values_long(*changes, series, found);
    if (!values) return leave_open(series, path);
    parts.emplace_back(changes, values->most);
    is_exact &= values->exact;
  }
  if (const NextValues::Changes* node = next_.on_node(path); node != nullptr) {
    if (const std::optional<std::size_t> passes = passes_long(*node, found)) parts.emplace_back(node, *passes);
  }
  if (parts.empty() && is_plain_variable(path.substr(0, path.find(".grad_fn")))) return;  // own_use: its next value
  if (parts.empty()) return leave_open(series, path);
  // What is in a container may go from there while the attribute has the same container as its value.
  const bool has_one_value = std::ranges::all_of(parts, [&](const auto& part) {
    return changes_by(*part.first, series.front()->storage->span.from_seq) == part.first->at.size();
  });
  for (const Living* each : series) {
    const Sequence birth = each->storage->span.from_seq;
    Sequence until;
    for (const auto& [changes, values] : parts) {
      const std::size_t next = changes_by(*changes, birth) + values;
      if (next >= changes->at.size()) continue;
      until = until.valid() ? std::min(until, changes->at[next]) : changes->at[next];
    }
    const bool may_go = until.valid() ? !is_exact : has_one_value && goes_in_order(*each, path);
    const Sequence latest = may_go ? by_births(*each, path).value_or(Sequence()) : Sequence();
    if (latest.valid()) until = until.valid() ? std::min(until, latest) : latest;
    if (until.valid()) note(*each, path, until);
  }
}

void UseByReadings::leave_open(const Series& series, std::string_view path) {
  if (add_by_births(series, path)) return;
  if (holding_.keeps(path)) return;
  for (const Living* each : series) open_.insert(each->storage->id);
}

void UseByReadings::add(const Series& series) {
  add_ended_calls(series);
  const ByPath all = found(series);
  if (all.size() > kMostPaths) {
    for (const Living* each : series) open_.insert(each->storage->id);
    return;
  }
  std::vector<std::string> keys;
  for (const auto& [path, where] : all) keys.push_back(without_entries(path));
  for (const auto& [path, where] : all) {
    const std::string key = without_entries(path);
    const bool is_link =
        std::ranges::any_of(keys, [&](std::string_view other) { return has_one_more_link(key, other); });
    const bool has_links =
        std::ranges::any_of(keys, [&](std::string_view other) { return has_one_more_link(other, key); });
    // Of a chain, the program itself needs the value of the first object, if it reads it.
    if (is_link || (has_links && !next_.reads_attribute(last_name(holder_of(path))))) {
      if (is_of_cycle(*series.front())) add_by_births(series, path);
      continue;
    }
    add(series, path, where);
  }
}

bool UseByReadings::is_open(StorageId storage) const { return open_.contains(storage); }

std::optional<Sequence> UseByReadings::until(StorageId storage) const {
  const auto found = until_.find(storage);
  return found != until_.end() ? std::optional(found->second) : std::nullopt;
}

bool UseByReadings::says(const Living& living, std::string_view variable) const {
  const auto found = variables_.find(living.storage->id);
  return found != variables_.end() && found->second.contains(std::string(variable));
}

}  // namespace dcmt::analyzer
