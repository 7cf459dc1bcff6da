#include "analyzer/model/holders_view.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "analyzer/storages/stacks.h"
#include "analyzer/storages/without_numbers.h"
#include "trace/base/shell_words.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::model {
namespace {

using analyzer::Analysis;
using analyzer::Storage;

/// The requested storages.
struct Asked {
  std::string name;
  std::vector<const Storage*> storages;
};

/// nullopt unless the whole text is a number.
std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

void add(const TraceData& data, StorageId id, std::set<const Storage*>& found) {
  if (const Storage* storage = data.storages.find(id); storage != nullptr) found.insert(storage);
}

std::optional<Asked> finding_of(const Analysis& analysis, std::int64_t number) {
  const auto finding = std::ranges::find(analysis.findings, number, &analyzer::Finding::number);
  if (finding == analysis.findings.end()) return std::nullopt;
  std::set<const Storage*> found;
  for (const analyzer::FindingItem& item : finding->items) add(*analysis.data, item.storage, found);
  if (finding->growth) {
    for (const analyzer::GrowingStorage& each : finding->growth->storages) add(*analysis.data, each.storage, found);
  }
  return Asked{"finding " + std::to_string(number), {found.begin(), found.end()}};
}

std::optional<Asked> storage_of(const Analysis& analysis, std::int64_t number) {
  const Storage* storage = analysis.data->storages.find(StorageId(number));
  if (storage == nullptr) return std::nullopt;
  return Asked{"storage " + std::to_string(number), {storage}};
}

/// True if people may call "programs/train.py:17 main" "train.py:17".
bool is_place(std::string_view site, std::string_view asked) {
  const std::string_view place = site.substr(0, site.rfind(' '));
  return place == asked || (place.ends_with(asked) && place[place.size() - asked.size() - 1] == '/');
}

/// nullopt if the program has no such place. A place counts even if its storages are all gone and were never found.
std::optional<Asked> place_of(const Analysis& analysis, const std::string& asked) {
  const TraceData& data = *analysis.data;
  std::map<StackId, bool> here;
  Asked found{asked, {}};
  bool exists = false;
  for (const Storage& storage : data.storages) {
    const auto [at, is_new] = here.try_emplace(storage.birth.stack, false);
    if (is_new) at->second = is_place(analyzer::describe_site(data, storage.birth.stack), asked);
    if (!at->second) continue;
    exists = true;
    if (!storage.span.ended() || !data.owners.paths_to(storage.id).empty()) found.storages.push_back(&storage);
  }
  return exists ? std::optional(found) : std::nullopt;
}

Asked alive_at_last_reading(const TraceData& data) {
  Asked found{"all that was alive when the memory was read last", {}};
  if (data.owners.scans.empty()) return found;
  const Sequence last = data.owners.scans.back().from;
  for (const Storage& storage : data.storages) {
    if (storage.span.from_seq > last || (storage.span.ended() && storage.span.to_seq <= last)) continue;
    found.storages.push_back(&storage);
  }
  return found;
}

std::optional<Asked> asked_for(const Analysis& analysis, const std::string& text) {
  constexpr std::string_view kFinding = "finding:", kStorage = "storage:";
  if (text == kAllHolders) return alive_at_last_reading(*analysis.data);
  if (text.starts_with(kFinding)) {
    const auto number = number_in(std::string_view(text).substr(kFinding.size()));
    return number ? finding_of(analysis, *number) : std::nullopt;
  }
  if (text.starts_with(kStorage)) {
    const auto number = number_in(std::string_view(text).substr(kStorage.size()));
    return number ? storage_of(analysis, *number) : std::nullopt;
  }
  const auto number = number_in(text);
  if (!number) return place_of(analysis, text);
  std::optional<Asked> finding = finding_of(analysis, *number);
  return finding ? finding : storage_of(analysis, *number);
}

/// Finds readings by their ids.
class Readings {
 public:
  explicit Readings(const Analysis& analysis)
      : analysis_(analysis), start_(analysis.data->meta_integer(meta::kStartNs).value_or(0)) {}

  [[nodiscard]] Reading of(analyzer::ScanId id) const {
    const analyzer::Scan* scan = analysis_.data->owners.scan(id);
    if (scan == nullptr) return {id.value, {}, {}};
    return {id.value, TimeNs(std::max<std::int64_t>(0, scan->ns.value - start_)),
            number_of(analyzer::step_at(analysis_.releases.steps, scan->from))};
  }

 private:
  const Analysis& analysis_;
  std::int64_t start_;
};

/// Sums over the storages that readings found, by path and by container.
class Sums {
 public:
  Sums(const Analysis& analysis, bool several) : data_(*analysis.data), readings_(analysis), several_(several) {}

  void add(const Storage& storage) {
    std::set<std::pair<std::string, bool>> counted;  // each path counts once, however many indexes it has
    for (const analyzer::OwnerPath& owner : data_.owners.paths_to(storage.id)) {
      const std::string_view text = data_.text(owner.path);
      std::string name = several_ ? analyzer::without_numbers(text) : std::string(text);
      const auto [at, is_new] = paths_.try_emplace({name, owner.confirmed});
      Interval& interval = at->second;
      if (is_new || owner.scan < interval.from) interval.from = owner.scan;
      if (is_new || interval.to < owner.last_scan) {
        interval.to = owner.last_scan;
        interval.place = owner.place;
      }
      if (!counted.emplace(std::move(name), owner.confirmed).second) continue;
      ++interval.storages;
      interval.bytes.value += storage.bytes.value;
    }
    const analyzer::Held* held = data_.owners.of(storage.id);
    if (held == nullptr) return;
    for (const analyzer::ContainerId id : held->containers) {
      HoldingContainer& container = containers_[id];
      ++container.storages;
      container.bytes.value += storage.bytes.value;
      if (held->containers.size() == 1 && !held->otherwise) container.alone.value += storage.bytes.value;
    }
  }

  [[nodiscard]] std::vector<HoldingContainer> containers() const {
    std::vector<HoldingContainer> all;
    for (const auto& [id, sum] : containers_) {
      HoldingContainer& container = all.emplace_back(sum);
      const analyzer::Container* row = data_.owners.container(id);
      container.path = data_.text(row->path);
      container.type = data_.text(row->type);
      container.place = text_of(data_, row->place);
    }
    std::ranges::stable_sort(all, std::greater(), &HoldingContainer::bytes);
    return all;
  }

  [[nodiscard]] std::vector<HoldingPath> paths() const {
    std::vector<HoldingPath> all;
    for (const auto& [name, sum] : paths_) {
      all.push_back({name.first, text_of(data_, sum.place), sum.storages, sum.bytes, readings_.of(sum.from),
                     readings_.of(sum.to), name.second});
    }
    std::ranges::stable_sort(all, std::greater(), &HoldingPath::bytes);
    return all;
  }

 private:
  struct Interval {
    analyzer::ScanId from, to;
    StringId place;
    std::int64_t storages = 0;
    Bytes bytes;
  };

  const TraceData& data_;
  Readings readings_;
  bool several_;
  std::map<std::pair<std::string, bool>, Interval> paths_;  ///< by text, and whether it is confirmed
  std::map<analyzer::ContainerId, HoldingContainer> containers_;
};

}  // namespace

Expected<HoldersView> holders_view(const std::string& path, const Analysis& analysis, const std::string& asked) {
  const TraceData& data = *analysis.data;
  const std::optional<Asked> found = asked_for(analysis, asked);
  if (!found) {
    return Error{ErrorCode::kUsage, path + ": no finding, storage or place '" + asked +
                                        "'. Take a finding's number from: dc-memtrace report " + shell_word(path) +
                                        ", a storage's id, a line as train.py:17, or all."};
  }
  HoldersView view;
  view.path = path;
  view.rank = analysis.facts.rank;
  view.of = found->name;
  view.storages = static_cast<std::int64_t>(found->storages.size());
  view.readings = static_cast<std::int64_t>(data.owners.scans.size());
  Sums sums(analysis, found->storages.size() > 1);
  for (const Storage* storage : found->storages) {
    view.bytes.value += storage->bytes.value;
    sums.add(*storage);
    if (!data.owners.paths_to(storage->id).empty()) continue;
    const bool later = data.owners.scans.empty() || data.owners.scans.back().from < storage->span.from_seq;
    ++(later ? view.later : view.not_found);
    (later ? view.later_bytes : view.not_found_bytes).value += storage->bytes.value;
  }
  view.containers = sums.containers();
  view.paths = sums.paths();
  return view;
}

}  // namespace dcmt::model
