// Collections of Python objects that have more entries after each part of the run. The readings of the memory count the
// entries. Not growth: what the program bounds, what fills up and stops, what is emptied again, what lived for a small
// part of the run. A collection of tensors is for the rule `grows`.
#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/growth/object_growth.h"
#include "analyzer/growth/program_work.h"
#include "analyzer/load/optional_text.h"
#include "analyzer/rules/rules.h"

namespace dcmt::analyzer {
namespace {

/// Smaller growth is not reported: in bytes, and as a share of the resident memory.
constexpr double kLeastObjects = 2.0 * (1 << 20), kLeastOfResident = 0.005;
/// Part of the run, from the end of its imports, through which a collection must have grown.
constexpr double kLeastOfRun = 0.4;
/// Part of the run, at its end, that may be without a reading. On a busy machine a longer one is: it is not known then
/// whether the collection still grows.
constexpr double kMostUnseen = 0.3;
/// While a reading counts, the program may go on by this part of the run: else the count is of no point of it. In the
/// middle it is off by half of that at most.
constexpr double kLongestCount = 0.08;

using CountedSeries = std::vector<const Collection*>;

double seconds(TimeNs from, TimeNs to) { return static_cast<double>(to.value - from.value) * 1e-9; }

/// The readings that could have found a collection.
class ReadingsOfCollection {
 public:
  ReadingsOfCollection(const TraceData& data, const ProgramWork& work, const CountedSeries& found)
      : data_(data), work_(work) {
    // A reading of variables sees everything at almost the same time.
    everything_ = std::ranges::all_of(found, [&](const Collection* each) { return scan_of(*each).everything; });
    in_function_ = found.back()->place.valid();
  }

  [[nodiscard]] const Scan& scan_of(const Collection& collection) const { return *data_.owners.scan(collection.scan); }
  [[nodiscard]] bool counts(const Scan& scan) const {
    return scan.everything == everything_ && !scan.importing && !(in_function_ && scan.ended);
  }
  /// True if a variable of a function may be gone since the program was about to end.
  [[nodiscard]] bool is_at_end(const Scan& scan) const { return in_function_ && work_.may_have_ended(scan.ns); }
  [[nodiscard]] std::vector<const Scan*> all() const {
    std::vector<const Scan*> scans;
    for (const Scan& scan : data_.owners.scans) {
      if (counts(scan)) scans.push_back(&scan);
    }
    std::ranges::stable_sort(scans, {}, &Scan::ns);
    return scans;
  }

 private:
  const TraceData& data_;
  const ProgramWork& work_;
  bool everything_ = false, in_function_ = false;
};

/// When a reading counted the entries.
TimeNs counted_at(const Scan& scan) { return TimeNs((scan.counted.value + scan.to.value) / 2); }

double resident_of(const TraceData& data) {
  return data.memory.samples.empty() ? 0 : static_cast<double>(data.memory.samples.back().all().value);
}

std::optional<ObjectGrowth> object_growth_of(const TraceData& data, const ProgramWork& work, CountedSeries found) {
  const ReadingsOfCollection readings(data, work, found);
  std::erase_if(found, [&](const Collection* each) { return !readings.counts(readings.scan_of(*each)); });
  const std::vector<const Scan*> all = readings.all();
  if (found.empty()) return {};
  const auto scan_of = [&](const Collection* each) -> const Scan& { return readings.scan_of(*each); };
  std::ranges::stable_sort(found, {}, [&](const Collection* each) { return scan_of(each).ns; });
  const TimeNs latest = scan_of(found.back()).ns;
  const auto lacks = [&](const Scan* scan) { return scan->ns > latest && !readings.is_at_end(*scan); };
  if (std::ranges::any_of(all, lacks)) return {};
  const TimeNs first_to = scan_of(found.front()).to, last_to = scan_of(found.back()).to;
  const bool by_steps = work.steps(first_to, last_to) >= kFewestWorkSteps;
  const auto between = [&](TimeNs from, TimeNs to) { return by_steps ? work.steps(from, to) : seconds(from, to); };
  const double longest = kLongestCount * between(first_to, last_to);
  std::erase_if(found,
                [&](const Collection* each) { return between(scan_of(each).counted, scan_of(each).to) > longest; });
  if (found.empty()) return {};
  const Collection &first = *found.front(), &last = *found.back();
  TimeNs begin = all.front()->to;
  for (const Scan& scan : data.owners.scans) {
    if (scan.importing && scan.ns < scan_of(&first).ns) begin = std::max(begin, scan.to);
  }
  const double rounds = between(counted_at(scan_of(&first)), counted_at(scan_of(&last)));
  if (rounds < kLeastOfRun * between(begin, all.back()->to)) return {};
  const TimeNs end = std::max(work.latest(), all.back()->to);
  if (between(scan_of(&last).to, end) > kMostUnseen * between(begin, end)) return {};
  std::vector<EntriesAt> points;
  for (const Collection* each : found) {
    points.push_back(
        {between(counted_at(scan_of(&first)), counted_at(scan_of(each))), static_cast<double>(each->entries)});
  }
  const double grown = static_cast<double>(last.bytes.value - first.bytes.value);
  if (!keeps_growing(points) || grown < std::max(kLeastObjects, kLeastOfResident * resident_of(data))) return {};

  ObjectGrowth growth;
  growth.holder = data.text(last.path);
  growth.place = unless_empty(data.text(last.place));
  growth.type = data.text(last.type);
  growth.entry_type = unless_empty(data.text(last.entry_type));
  growth.parts = unless_empty(data.text(last.parts));
  growth.alike = last.alike;
  growth.entries = last.entries;
  growth.entries_before = first.entries;
  growth.own = last.own;
  growth.bytes = last.bytes;
  growth.bytes_before = first.bytes;
  growth.unit = by_steps ? "step" : "second";
  growth.rounds = static_cast<std::int64_t>(rounds + 0.5);
  growth.entries_per_round = static_cast<double>(last.entries - first.entries) / rounds;
  growth.per_round = Bytes(static_cast<std::int64_t>(grown / rounds));
  growth.readings = static_cast<std::int64_t>(found.size());
  Storing storing = stored_by(data, growth.holder);
  growth.stored_by = std::move(storing.statements);
  growth.called_at = std::move(storing.calls);
  return growth;
}

/// The path with [*] in place of every index and key.
std::string without_keys(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    const std::size_t open = path.find('[');
    const std::size_t close = path.find(']', std::min(open, path.size()));
    if (close == std::string_view::npos) break;
    result.append(path.substr(0, open)).append("[*]");
    path.remove_prefix(close + 1);
  }
  return result.append(path);
}

/// True if the same statements add to both, and their paths differ only in keys: `meters[name].history` by name.
bool are_alike(const ObjectGrowth& one, const ObjectGrowth& other) {
  return one.type == other.type && one.unit == other.unit && one.stored_by == other.stored_by &&
         one.called_at == other.called_at && without_keys(one.holder) == without_keys(other.holder);
}

/// What the first has is said of both.
void add_alike(const ObjectGrowth& more, ObjectGrowth& to) {
  to.holder = without_keys(to.holder);
  to.alike += more.alike;
  to.entries += more.entries;
  to.entries_before += more.entries_before;
  to.own.value += more.own.value;
  to.bytes.value += more.bytes.value;
  to.bytes_before.value += more.bytes_before.value;
  to.entries_per_round += more.entries_per_round;
  to.per_round.value += more.per_round.value;
  to.readings = std::min(to.readings, more.readings);
}

/// One growth for all that are alike.
std::vector<ObjectGrowth> by_pattern(const std::vector<ObjectGrowth>& growing) {
  std::vector<ObjectGrowth> merged;
  for (const ObjectGrowth& each : growing) {
    const auto before = std::ranges::find_if(merged, [&](const ObjectGrowth& other) { return are_alike(other, each); });
    if (before == merged.end()) {
      merged.push_back(each);
    } else {
      add_alike(each, *before);
    }
  }
  return merged;
}

}  // namespace

namespace rules {

std::vector<Finding> grows_objects(const TraceData& data, const Releases&) {
  std::map<StringId, CountedSeries> by_path;
  for (const Collection& each : data.owners.collections) {
    if (data.owners.scan(each.scan) != nullptr) by_path[each.path].push_back(&each);
  }
  const ProgramWork work(data);
  std::vector<ObjectGrowth> growing;
  for (auto& [path, found] : by_path) {
    if (std::optional<ObjectGrowth> growth = object_growth_of(data, work, std::move(found))) {
      growing.push_back(std::move(*growth));
    }
  }
  std::vector<ObjectGrowth> outermost;
  std::ranges::copy_if(growing, std::back_inserter(outermost), [&](const ObjectGrowth& each) {
    return std::ranges::none_of(growing,
                                [&](const ObjectGrowth& other) { return is_below(each.holder, other.holder); });
  });
  std::vector<Finding> findings;
  for (ObjectGrowth& growth : by_pattern(outermost)) {
    Finding finding;
    finding.rule = "grows_objects";
    finding.title = "grows";
    finding.bytes = growth.bytes;
    finding.confidence = Confidence::kCertain;
    finding.why = "every part of the run adds entries to it, and hardly any is removed later";
    finding.fix =
        "remove what is no longer needed, give it a limit (deque(maxlen=N), lru_cache(maxsize=N)), or keep sums";
    finding.objects = growth;
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace rules
}  // namespace dcmt::analyzer
