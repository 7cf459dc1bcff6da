// Storages that outlive the round in which they were made, more of them in every part of the run, and hardly any of
// which ever go. What fills and stops (a cache, a ring of buffers), and what is replaced (an average of weights), is
// not growth.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyzer/rules/rounds.h"
#include "analyzer/rules/rules.h"
#include "analyzer/storages/holder_names.h"
#include "analyzer/storages/live_set.h"
#include "analyzer/storages/stacks.h"
#include "analyzer/storages/storage_bytes.h"
#include "trace/base/detail.h"
#include "trace/base/followed_bytes.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

/// Rounds that a run must have, and those of them that must have added something, before anything is said to grow.
constexpr std::int64_t kFewestRounds = 6;
constexpr std::size_t kFewestAdding = 3;
/// Of the bytes that outlived their round, at most such a share has gone again.
constexpr double kMostGone = 0.25;
/// The last third of the run adds at least such a share of what a third adds on average.
constexpr double kStillAdds = 0.4;

struct Living {
  const Storage* storage = nullptr;
  std::size_t round = 0;
  Bytes bytes;
};

/// The round from which on storages of a size are in the trace: the first of the run, but for small ones that are
/// followed since they became more (docs/adr/0034).
class FollowedSince {
 public:
  FollowedSince(const TraceData& data, const Rounds& rounds) {
    if (data.meta_text(meta::kDetail) != text_of(Detail::kLifetimes)) return;
    for (const Storage& storage : data.storages) {
      const std::size_t round = rounds.at(storage.span.from_seq);
      if (!is_small(storage.bytes) || round >= rounds.size() || is_gathered(data, storage.id)) continue;
      const auto [since, is_new] = small_.try_emplace(size_class_of(storage.bytes.value), round);
      if (!is_new) since->second = std::min(since->second, round);
    }
  }
  [[nodiscard]] std::size_t round_of(Bytes bytes) const {
    if (!is_small(bytes)) return 0;
    const auto since = small_.find(size_class_of(bytes.value));
    return since != small_.end() ? since->second : 0;
  }

 private:
  static bool is_small(Bytes bytes) { return bytes.value > 0 && bytes.value < kFollowedBytes; }

  std::map<std::size_t, std::size_t> small_;  ///< by class of sizes
};

/// Storages of one place in the program that outlived the round in which they were made.
struct Site {
  std::vector<Living> living;  ///< at the end of the last round
  double made = 0, gone = 0;   ///< bytes, after the round from which on they are followed
  std::array<double, 3> added{};
  std::set<std::size_t> adding;

  [[nodiscard]] bool grows() const {
    const double kept = added[0] + added[1] + added[2];
    return adding.size() >= kFewestAdding && gone <= kMostGone * made && added[0] > 0 && added[1] > 0 &&
           added[2] >= kStillAdds * kept / 3;
  }
};

std::map<StackId, Site> sites_of(const TraceData& data, const Rounds& rounds) {
  const Sequence last = rounds.end(rounds.size() - 1);
  const FollowedSince followed(data, rounds);
  std::map<StackId, Site> sites;
  for (const Storage& storage : data.storages) {
    const std::size_t round = rounds.at(storage.span.from_seq);
    if (round >= rounds.size() || storage.bytes.value == 0) continue;
    if (storage.span.ended() && storage.span.to_seq <= rounds.end(round)) continue;
    if (is_gathered(data, storage.id)) continue;  // the rules of releases judge it
    Site& site = sites[storage.birth.stack];
    const auto bytes = static_cast<double>(storage.bytes.value);
    const std::size_t since = followed.round_of(storage.bytes);
    const bool counts = round > since && rounds.steps_after(since) >= kFewestRounds - 1;
    if (counts) site.made += bytes;
    if (!storage.span.covers(last)) {
      if (counts) site.gone += bytes;
      continue;
    }
    const Bytes now = bytes_at(data, storage, last);
    if (now.value == 0) continue;
    site.living.push_back({&storage, round, now});
    if (!counts) continue;
    site.added[rounds.third(round, since)] += bytes;
    site.adding.insert(round);
  }
  std::erase_if(sites, [](const auto& each) { return !each.second.grows(); });
  return sites;
}

/// Who holds storages of one place.
struct HeldBy {
  std::vector<ContainerId> containers;
  bool otherwise = true;
  const OwnerPath* path = nullptr;  ///< where there is no container

  friend auto operator<=>(const HeldBy& a, const HeldBy& b) {
    return std::tie(a.containers, a.otherwise) <=> std::tie(b.containers, b.otherwise);
  }
  friend bool operator==(const HeldBy& a, const HeldBy& b) { return (a <=> b) == 0; }
};

HeldBy held_by(const TraceData& data, const Held& held) {
  HeldBy by{held.containers, held.otherwise, nullptr};
  if (by.containers.empty()) by.path = data.owners.path_to(held.storage);
  return by;
}

/// What the storages of a place are usually held by. One that was made after the last scan is held like those that had
/// its position among what a round made there, where there are such, else like most.
class Usual {
 public:
  Usual(const TraceData& data, const Site& site) {
    number(site);
    for (std::size_t i = 0; i < site.living.size(); ++i) {
      const Held* held = site.living[i].round > 0 ? data.owners.of(site.living[i].storage->id) : nullptr;
      if (held == nullptr) continue;
      const HeldBy by = held_by(data, *held);
      if (by.containers.empty() && by.path == nullptr) continue;
      ++counts_[by];
      ++at_position_[positions_[i]][by];
    }
  }
  [[nodiscard]] HeldBy of(std::size_t living) const {
    const auto here = at_position_.find(positions_[living]);
    return most_of(here != at_position_.end() ? here->second : counts_);
  }

 private:
  using Counts = std::map<HeldBy, std::int64_t>;
  using Position = std::pair<std::size_t, std::size_t>;  ///< which, of how many

  void number(const Site& site) {
    for (std::size_t from = 0; from < site.living.size();) {
      std::size_t to = from;
      while (to < site.living.size() && site.living[to].round == site.living[from].round) ++to;
      for (std::size_t i = from; i < to; ++i) positions_.emplace_back(i - from, to - from);
      from = to;
    }
  }
  static HeldBy most_of(const Counts& counts) {
    const auto most = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
    return most != counts.end() ? most->first : HeldBy();
  }

  std::vector<Position> positions_;
  Counts counts_;
  std::map<Position, Counts> at_position_;
};

/// A finding in the making: one container, variable, or place whose holder is not known.
struct Group {
  Growth growth;
  HeldStorages held;
  std::set<std::size_t> adding;  ///< rounds

  void add(const Living& living, const Rounds& rounds, bool seen, bool frees, bool alone) {
    held.add(*living.storage, living.bytes, rounds.end(living.round), frees);
    if (seen) ++growth.seen;
    if (alone && frees) growth.alone.value += living.bytes.value;
    adding.insert(living.round);
  }
};

/// Two readings found no root that leads to it: it goes with the cycle. A variable that held it once does not count.
bool only_cycles_hold(const TraceData& data, StorageId storage) {
  const auto paths = data.owners.paths_to(storage);
  return std::ranges::all_of(paths, [&](const OwnerPath& path) {
    return path.last_scan < paths.front().last_scan || data.text(path.path).starts_with("cycle ");
  });
}

/// Whether the latest reading found the storage in a cycle, without proof yet: then it is not held as `by` says, if
/// that is something else.
bool is_in_another_cycle(const TraceData& data, const HeldBy& by, StorageId storage) {
  const auto paths = data.owners.paths_to(storage);
  if (paths.empty()) return false;
  const std::string_view latest = data.text(paths.front().path);
  if (!latest.starts_with("cycle ")) return false;
  return by.path == nullptr || holder_of(data.text(by.path->path)) != holder_of(latest);
}

std::map<std::string, Group> groups_of(const TraceData& data, const Rounds& rounds) {
  std::map<std::string, Group> groups;
  for (const auto& [stack, site] : sites_of(data, rounds)) {
    const Usual usual(data, site);
    for (std::size_t i = 0; i < site.living.size(); ++i) {
      const Living& living = site.living[i];
      const HeldBy common = usual.of(i);
      const Held* held = data.owners.of(living.storage->id);
      HeldBy by = held != nullptr ? held_by(data, *held) : HeldBy();
      const bool seen = !by.containers.empty() || by.path != nullptr;
      if (!seen) by = is_in_another_cycle(data, common, living.storage->id) ? HeldBy() : common;
      for (const ContainerId id : by.containers) {
        const Container* container = data.owners.container(id);
        Group& group = groups[std::string(data.text(container->path))];
        group.growth.holder = data.text(container->path);
        group.growth.place = data.text(container->place);
        group.growth.type = data.text(container->type);
        group.add(living, rounds, seen, !common.otherwise, by.containers.size() == 1);
      }
      if (!by.containers.empty()) continue;
      const std::string variable(by.path != nullptr ? holder_of(data.text(by.path->path)) : std::string_view());
      const FrameId place = site_of(data, stack);
      Group& group = groups[variable.empty() ? " " + std::to_string(place.value) : variable];
      group.growth.holder = variable;
      if (by.path != nullptr) group.growth.place = data.text(by.path->place);
      const bool frees = by.path != nullptr && only_cycles_hold(data, by.path->storage);
      group.add(living, rounds, seen, frees, frees);
    }
  }
  return groups;
}

/// Whether it keeps what autograd saved for a backward.
bool keeps_graphs(const TraceData& data, const Growth& growth) {
  return std::ranges::any_of(growth.storages, [&](const GrowingStorage& each) {
    const Held* held = data.owners.of(each.storage);
    return held != nullptr && held->role == kSavedForBackward;
  });
}

bool has_backward(const TraceData& data) {
  return std::ranges::any_of(data.operators, [](const Operator& op) { return op.scope == OperatorScope::kBackward; }) ||
         std::ranges::any_of(data.marks, [&](const Mark& mark) {
           return mark.kind == MarkKind::kPhase && data.text(mark.name) == "backward";
         });
}

std::string fix_of(const Growth& growth) {
  if (growth.by_calls) return "compute under torch.inference_mode(), or keep detached copies: .detach()";
  if (growth.holder.starts_with("cycle ")) return "cut one reference of the cycle: keep a detached copy";
  if (growth.type.empty() || growth.type == "graph")
    return "add numbers to it, not tensors: .item(), or .detach() where no backward needs it";
  return "keep numbers or detached copies there, or clear it when it has been used";
}

}  // namespace

namespace rules {

std::vector<Finding> grows(const TraceData& data, const Releases&) {
  const Rounds rounds = Rounds::steps_or_calls(data);
  const bool by_calls = rounds.by_calls();
  if (rounds.steps() < kFewestRounds || (by_calls && has_backward(data))) return {};
  std::vector<Finding> findings;
  for (auto& [name, group] : groups_of(data, rounds)) {
    // What the last rounds have made, before it is let go of.
    if (group.adding.size() < kFewestAdding) continue;
    Finding finding;
    finding.rule = "grows";
    finding.classes.emplace_back("D01");
    finding.title = "grows";
    Growth& growth = finding.growth.emplace(std::move(group.growth));
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
                           : "every part of the run adds to it, and hardly anything that was added went again";
    finding.fix = fix_of(growth);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace rules
}  // namespace dcmt::analyzer
