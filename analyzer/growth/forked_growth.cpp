#include "analyzer/growth/forked_growth.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <utility>

#include "analyzer/load/optional_text.h"

namespace dcmt::analyzer {
namespace {

/// Less is not reported: bytes of all children, and as a part of what the child that was read does not share.
constexpr std::int64_t kLeastCopied = std::int64_t{64} << 20;
constexpr double kLeastOfChild = 0.25;
/// What the children add: entries at the last reading, as a multiple of those at the first.
constexpr double kMoreEntries = 1.2;
/// Part of a child's samples, at their end, in which it must still grow, and by how much of its growth.
constexpr double kLastOfSamples = 0.3, kLeastInLastPart = 0.1;

using ChildId = std::pair<std::int64_t, std::int64_t>;

ChildId child_id(const ForkedSample& sample) { return {sample.pid, sample.start}; }

std::vector<const ForkedSample*> samples_of(const TraceData& data, ChildId child) {
  std::vector<const ForkedSample*> samples;
  for (const ForkedSample& each : data.forked.samples) {
    if (child_id(each) == child) samples.push_back(&each);
  }
  return samples;
}

/// The child with this pid at the time, by its latest sample before it. nullptr: none.
const ForkedSample* child_at(const TraceData& data, std::int64_t pid, TimeNs ns) {
  const ForkedSample* latest = nullptr;
  for (const ForkedSample& each : data.forked.samples) {
    if (each.pid == pid && each.ns <= ns) latest = &each;
  }
  return latest;
}

bool still_grows(const std::vector<const ForkedSample*>& samples) {
  if (samples.size() < 3) return false;
  const auto at = static_cast<std::size_t>((1 - kLastOfSamples) * static_cast<double>(samples.size() - 1));
  const auto bytes = [&](std::size_t i) { return static_cast<double>(samples[i]->unshared.value); };
  const double all = bytes(samples.size() - 1) - bytes(0);
  return all > 0 && bytes(samples.size() - 1) - bytes(at) >= kLeastInLastPart * all;
}

ForkedChildren children_named(const TraceData& data, StringId name) {
  std::map<ChildId, Bytes> first;
  std::map<TimeNs, std::vector<const ForkedSample*>> together;
  for (const ForkedSample& each : data.forked.samples) {
    if (each.name != name) continue;
    first.emplace(child_id(each), each.unshared);
    together[each.ns].push_back(&each);
  }
  ForkedChildren result;
  result.name = data.text(name);
  result.children = static_cast<std::int64_t>(first.size());
  for (const auto& [ns, samples] : together) {
    ForkedChildren now;
    for (const ForkedSample* each : samples) {
      ++now.most;
      now.unshared.value += each->unshared.value;
      now.first.value += first.at(child_id(*each)).value;
      now.resident = std::max(now.resident, each->resident);
    }
    if (now.unshared < result.unshared) continue;
    result.most = now.most;
    result.unshared = now.unshared;
    result.first = now.first;
    result.resident = now.resident;
  }
  return result;
}

/// The same collection at the first reading that found it.
const ForkedCollection& first_of(const TraceData& data, const ForkedCollection& last) {
  return *std::ranges::find(data.forked.collections, last.path, &ForkedCollection::path);
}

}  // namespace

std::vector<ForkedChildren> forked_children(const TraceData& data) {
  std::set<StringId> names;
  for (const ForkedSample& each : data.forked.samples) names.insert(each.name);
  std::vector<ForkedChildren> children;
  for (const StringId name : names) children.push_back(children_named(data, name));
  std::ranges::stable_sort(children, std::ranges::greater(), &ForkedChildren::unshared);
  return children;
}

std::optional<ForkedGrowth> forked_growth(const TraceData& data) {
  std::optional<ForkedGrowth> most;
  for (const ForkedCollection& each : data.forked.collections | std::views::reverse) {
    if (each.reading != data.forked.collections.back().reading) break;
    const ForkedSample* child = child_at(data, each.pid, each.ns);
    if (child == nullptr || (most && each.unshared <= most->each)) continue;
    const ForkedCollection& first = first_of(data, each);
    const bool adds = static_cast<double>(each.entries) >= kMoreEntries * static_cast<double>(first.entries) &&
                      still_grows(samples_of(data, child_id(*child)));
    if (!each.inherited && !adds) continue;
    ForkedChildren of = children_named(data, child->name);
    if (each.unshared.value * of.most < kLeastCopied) continue;
    if (static_cast<double>(each.unshared.value) < kLeastOfChild * static_cast<double>(child->unshared.value)) continue;
    most.emplace();
    most->holder = data.text(each.path);
    most->place = unless_empty(data.text(each.place));
    most->type = data.text(each.type);
    most->entry_type = unless_empty(data.text(each.entry_type));
    most->inherited = each.inherited;
    most->entries = each.entries;
    most->entries_before = first.entries;
    most->each = each.unshared;
    most->bytes = each.bytes;
    most->of = std::move(of);
  }
  return most;
}

}  // namespace dcmt::analyzer
