// Graphs at the peak that end before any backward uses them: a forward outside of torch.no_grad() saves for a backward
// that never comes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/growth/usual_holders.h"
#include "analyzer/load/optional_text.h"
#include "analyzer/releases/what_if.h"
#include "analyzer/rules/rules.h"
#include "analyzer/storages/holder_names.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/storages/saved_fields.h"
#include "analyzer/storages/without_numbers.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {
namespace {

/// A peak that would fall by less than this is not reported.
constexpr double kLeastOfPeak = 0.05;
/// A variable keeps the graph of one forward until the next one has ended, which is usual. Graphs of this many forwards
/// are kept on purpose, or by mistake.
constexpr std::size_t kFewestForwards = 3;
/// What no reading found is saved like others of its place and size if at least this share of those was.
constexpr double kAlike = 0.9;

/// The stretches of a run between its backward passes.
class BetweenBackwards {
 public:
  explicit BetweenBackwards(const TraceData& data) {
    for (const Mark& mark : data.marks) {
      if (is_phase(data, &mark, "backward")) passes_.push_back(mark.span);
    }
    std::ranges::sort(passes_, {}, &Span::from_seq);
  }

  /// The number of the stretch that contains the whole life; nullopt if a backward runs in it.
  [[nodiscard]] std::optional<std::size_t> of(const Span& life) const {
    const auto begun = [&](Sequence at) {
      return std::ranges::upper_bound(passes_, at, {}, &Span::from_seq) - passes_.begin();
    };
    const auto number = begun(life.from_seq);
    if (!life.ended() || begun(life.to_seq) != number) return std::nullopt;
    if (number > 0 && passes_[number - 1].covers(life.from_seq)) return std::nullopt;
    return static_cast<std::size_t>(number);
  }

 private:
  std::vector<Span> passes_;
};

using Saved = std::vector<const Storage*>;  // in the order of birth
using Stretch = std::map<StackId, Saved>;   // by the place that made them

/// Storages of places that make something for graphs, by stretch. Without those of `others`.
std::map<std::size_t, Stretch> unused_of(const TraceData& data, const std::vector<Finding>& others) {
  std::set<StackId> saves;
  for (const Held& held : data.owners.held) {
    const Storage* storage = data.storages.find(held.storage);
    if (storage != nullptr && held.role == kSavedForBackward) saves.insert(storage->birth.stack);
  }
  std::map<std::size_t, Stretch> unused;
  if (saves.empty()) return unused;
  const std::set<StorageId> grow = growing_storages(others);
  const BetweenBackwards between(data);
  for (const Storage& storage : data.storages) {
    if (storage.bytes.value == 0 || !storage.birth.stack.valid() || !saves.contains(storage.birth.stack)) continue;
    if (grow.contains(storage.id) || is_gathered(data, storage.id)) continue;
    if (const auto stretch = between.of(storage.span)) unused[*stretch][storage.birth.stack].push_back(&storage);
  }
  return unused;
}

/// The begins of the forwards of a stretch: the births of the first place of those that make one storage a forward. A
/// place that layers share makes several.
std::vector<Sequence> forwards_of(const Stretch& stretch) {
  const auto less = [](const auto& a, const auto& b) {
    return std::pair(a.second.size(), a.second.front()->span.from_seq) <
           std::pair(b.second.size(), b.second.front()->span.from_seq);
  };
  std::vector<Sequence> begins;
  for (const Storage* each : std::ranges::min_element(stretch, less)->second) begins.push_back(each->span.from_seq);
  return begins;
}

/// A storage that only its graph has from `needed_until` on.
struct Unused {
  const Storage* storage = nullptr;
  Sequence needed_until;  ///< right before the next forward begins
  bool seen = false;      ///< a reading found it there
};

/// What the latest reading says of a storage after its forward: true if only a graph has it. nullopt: nothing.
std::optional<bool> is_only_saved(const TraceData& data, const Unused& each) {
  const Held* held = data.owners.of(each.storage->id);
  const Scan* scan = held != nullptr ? data.owners.scan(held->scan) : nullptr;
  if (scan == nullptr) return std::nullopt;
  const auto paths = data.owners.paths_to(each.storage->id);
  const bool otherwise = std::ranges::any_of(paths, [&](const OwnerPath& path) {
    return path.last_scan == held->scan && path.confirmed && !leads_through_a_graph(data.text(path.path));
  });
  if (held->role == kSavedForBackward && !otherwise) return true;
  // A variable of the forward has it, too, until the forward has ended.
  return scan->from < each.needed_until ? std::nullopt : std::optional(false);
}

/// Leaves out what something else than a graph has, or may have.
std::vector<Unused> only_saved(const TraceData& data, std::vector<Unused> all) {
  struct Count {
    std::int64_t saved = 0, read = 0;
  };
  std::map<std::pair<StackId, Bytes>, Count> counts;
  const auto key = [](const Unused& each) { return std::pair(each.storage->birth.stack, each.storage->bytes); };
  std::set<StorageId> otherwise;
  for (Unused& each : all) {
    const auto read = is_only_saved(data, each);
    if (!read) continue;
    if (!*read) otherwise.insert(each.storage->id);
    each.seen = *read;
    Count& count = counts[key(each)];
    ++count.read;
    count.saved += *read ? 1 : 0;
  }
  std::erase_if(all, [&](const Unused& each) {
    if (each.seen) return false;
    const Count& count = counts[key(each)];
    return otherwise.contains(each.storage->id) || count.saved == 0 ||
           static_cast<double>(count.saved) < kAlike * static_cast<double>(count.read);
  });
  return all;
}

std::vector<Unused> unused_graphs(const TraceData& data, const std::vector<Finding>& others) {
  std::vector<Unused> all;
  for (const auto& [number, stretch] : unused_of(data, others)) {
    const std::vector<Sequence> begins = forwards_of(stretch);
    for (const auto& [stack, born] : stretch) {
      for (const Storage* storage : born) {
        const auto next = std::ranges::upper_bound(begins, storage->span.from_seq);
        if (next == begins.end()) continue;
        const Sequence before(next->value - 1);
        if (before < storage->span.to_seq) all.push_back({storage, before, false});
      }
    }
  }
  return only_saved(data, std::move(all));
}

/// "evaluate: outs[*]" of a path through a graph. Empty for a variable: it has one value, not several graphs.
std::string holder_of_graphs(std::string_view path) {
  const std::string_view holder = holder_of(path);
  const std::string_view value = holder.substr(0, holder.find(".grad_fn"));
  return is_plain_variable(value) ? std::string() : without_numbers(value);
}

/// What leads to most of the storages, and the type of that container. Empty: no reading found it.
std::pair<std::string, std::string_view> holder_of_most(const TraceData& data, const std::vector<Unused>& unused) {
  struct Sum {
    std::int64_t bytes = 0;
    std::string_view type;
  };
  std::map<std::string, Sum> sums;
  for (const Unused& each : unused) {
    const HeldBy by = each.seen ? held_by(data, each.storage->id) : HeldBy();
    for (const ContainerId id : by.containers) {
      const Container* container = data.owners.container(id);
      Sum& sum = sums[std::string(data.text(container->path))];
      sum.bytes += each.storage->bytes.value;
      sum.type = data.text(container->type);
    }
    if (by.containers.empty() && by.path != nullptr)
      sums[holder_of_graphs(data.text(by.path->path))].bytes += each.storage->bytes.value;
  }
  sums.erase("");
  if (sums.empty()) return {};
  const auto most = std::ranges::max_element(sums, {}, [](const auto& each) { return each.second.bytes; });
  return {most->first, most->second.type};
}

Finding finding_of(const TraceData& data, const std::vector<Unused>& at_peak, const std::vector<Unused>& besides) {
  const auto growing = [](const Unused& each) {
    return GrowingStorage{.storage = each.storage->id,
                          .bytes = each.storage->bytes,
                          .needed_until = each.needed_until,
                          .frees = true,
                          .alone = true};
  };
  Finding finding;
  finding.rule = "graphs_without_backward";
  finding.classes.emplace_back("D02");
  finding.title = "graphs without a backward";
  Growth& growth = finding.growth.emplace();
  HeldStorages held;
  for (const Unused& each : at_peak) held.add(*each.storage, growing(each));
  held.move_to(data, growth);
  for (const Unused& each : besides) growth.beside.push_back(growing(each));
  std::string_view type;
  std::tie(growth.holder, type) = holder_of_most(data, at_peak);
  growth.type = unless_empty(type);
  std::vector<StackId> made_at;
  for (const GrowingSite& site : growth.sites) made_at.push_back(site.stack);
  growth.take(stored_by(data, growth.holder, made_at));
  growth.seen = std::ranges::count_if(at_peak, &Unused::seen);
  finding.bytes = held.bytes();
  finding.confidence = growth.holder.empty()                ? Confidence::kUnknown
                       : growth.seen == std::ssize(at_peak) ? Confidence::kCertain
                                                            : Confidence::kPartial;
  finding.why = "autograd saved it for a backward, and none ran until it was dropped";
  finding.fix = "run this forward under torch.no_grad(), or detach what is kept of it";
  return finding;
}

/// True if the peak were lower without it: what is bounded costs nothing where another point is as high.
bool lowers_peak(const TraceData& data, const Peak& peak, const Growth& growth) {
  const Peak without = peak_of(data, peak.device, gaps_on(peak.device, gaps_of_growth(data, growth)));
  return static_cast<double>(without.bytes.value) <= (1 - kLeastOfPeak) * static_cast<double>(peak.bytes.value);
}

}  // namespace

namespace rules {

std::vector<Finding> graphs_without_backward(const TraceData& data, const std::vector<Peak>& peaks,
                                             const std::vector<Finding>& others) {
  std::vector<Finding> findings;
  const std::vector<Unused> unused = unused_graphs(data, others);
  if (unused.empty()) return findings;
  for (const Peak& peak : peaks) {
    if (!peak.seq.valid()) continue;
    std::vector<Unused> at_peak, besides;
    std::set<Sequence> forwards;
    for (const Unused& each : unused) {
      const auto blocks = data.blocks_by_storage.of(each.storage->id);
      if (blocks.empty() || blocks.front()->device != peak.device) continue;
      const bool is_at_peak = each.storage->span.covers(peak.seq) && each.needed_until <= peak.seq;
      (is_at_peak ? at_peak : besides).push_back(each);
      if (is_at_peak) forwards.insert(each.needed_until);
    }
    if (forwards.size() < kFewestForwards) continue;
    Finding finding = finding_of(data, at_peak, besides);
    if (lowers_peak(data, peak, *finding.growth)) findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace rules
}  // namespace dcmt::analyzer
