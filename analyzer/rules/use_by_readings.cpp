#include "analyzer/rules/use_by_readings.h"

#include <algorithm>
#include <utility>

#include "analyzer/rules/common_names.h"
#include "analyzer/rules/holder_path.h"
#include "analyzer/storages/holder_names.h"

namespace dcmt::analyzer {
namespace {

/// Some readings come between a statement and the record by which it is seen to have run.
constexpr std::size_t kMostApart = 1;
/// Of one series that differ by more than entries.
constexpr std::size_t kMostPaths = 256;

std::size_t changes_by(const NextValues::Changes& changes, Sequence at) {
  return static_cast<std::size_t>(std::ranges::upper_bound(changes.at, at) - changes.at.begin());
}

/// "main: rows[].x" for "main: rows[3].x": without entries, and without the number of nodes on the way.
std::string without_entries(std::string_view path) {
  std::string key;
  int depth = 0;
  for (const char letter : path) {
    if (letter == '[') ++depth;
    if (depth == 0 && (letter < '0' || letter > '9')) key += letter;
    if (letter == ']') --depth;
  }
  return key;
}

/// True if `path` is `other` with one more reference in between, as from one object of a chain to the one before.
bool has_one_more_link(std::string_view path, std::string_view other) {
  if (path.size() <= other.size()) return false;
  std::size_t same = 0;
  while (same < other.size() && path[same] == other[same]) ++same;
  for (std::size_t at = same + 1; at-- > 0;) {
    const std::string_view link = path.substr(at, path.size() - other.size());
    if (path.substr(at + link.size()) != other.substr(at)) break;
    if (link.starts_with('.') && !link.starts_with(".grad_fn")) return true;
  }
  return false;
}

}  // namespace

UseByReadings::ByPath UseByReadings::found(const Series& series) const {
  std::map<std::string, std::string_view> first;  // of those that differ in entries only
  ByPath found;
  for (const Living* each : series) {
    for (const OwnerPath& path : data_.owners.paths_to(each->storage->id)) {
      const std::string_view text = data_.text(path.path);
      const bool is_kept = text.starts_with("cycle ") || holding_.keeps(text) || without_links(text).has_value();
      if (!path.confirmed || is_kept || is_argument(text)) continue;
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

std::optional<std::size_t> UseByReadings::values_long(const NextValues::Changes& changes, const Series& series,
                                                      const std::vector<Found>& found) {
  std::size_t least = changes.at.size(), most = 0;
  for (const auto& [living, scan] : found) {
    const std::size_t passed = changes_by(changes, scan->from) - changes_by(changes, living->storage->span.from_seq);
    least = std::min(least, passed);
    most = std::max(most, passed);
  }
  if (!changes.complete) {  // unless each has a change of its own
    for (std::size_t i = 0; i + 1 < series.size(); ++i) {
      if (changes_by(changes, series[i]->storage->span.from_seq) ==
          changes_by(changes, series[i + 1]->storage->span.from_seq))
        return std::nullopt;
    }
  }
  return most - least <= kMostApart ? std::optional(most) : std::nullopt;
}

void UseByReadings::add(const Series& series, std::string_view path, const std::vector<Found>& found) {
  std::vector<std::pair<const NextValues::Changes*, std::size_t>> parts;
  for (const NextValues::Changes* changes : next_.on(path)) {
    const std::optional<std::size_t> values = values_long(*changes, series, found);
    if (!values) return leave_open(series);
    parts.emplace_back(changes, *values);
  }
  const bool by_node = std::ranges::all_of(found, [&](const Found& each) {
    return next_.node_done(path, each.living->storage->span.from_seq) > each.scan->from;
  });
  if (parts.empty() && !by_node) return leave_open(series);
  for (const Living* each : series) {
    const Sequence birth = each->storage->span.from_seq;
    Sequence until;
    const auto sooner = [&](Sequence at) { until = until.valid() ? std::min(until, at) : at; };
    for (const auto& [changes, values] : parts) {
      const std::size_t next = changes_by(*changes, birth) + values;
      if (next < changes->at.size()) sooner(changes->at[next]);
    }
    if (const Sequence done = by_node ? next_.node_done(path, birth) : Sequence(); done.valid()) sooner(done);
    if (!until.valid()) continue;
    Sequence& last = until_[each->storage->id];
    last = std::max(last, until);
    variables_[each->storage->id].emplace(variable_at_root(path));
  }
}

void UseByReadings::leave_open(const Series& series) {
  for (const Living* each : series) open_.insert(each->storage->id);
}

void UseByReadings::add(const Series& series) {
  const ByPath all = found(series);
  if (all.size() > kMostPaths) return leave_open(series);
  std::vector<std::string> keys;
  for (const auto& [path, where] : all) keys.push_back(without_entries(path));
  for (const auto& [path, where] : all) {
    const std::string key = without_entries(path);
    const bool is_link =
        std::ranges::any_of(keys, [&](std::string_view other) { return has_one_more_link(key, other); });
    const bool has_links =
        std::ranges::any_of(keys, [&](std::string_view other) { return has_one_more_link(other, key); });
    // Of a chain, the program itself needs the value of the first object, if it reads it.
    if (is_link || (has_links && !next_.reads_attribute(last_name(holder_of(path))))) continue;
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
