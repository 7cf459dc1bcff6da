#include "analyzer/growth/own_use.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/growth/usual_holders.h"
#include "analyzer/source/holder_path.h"
#include "analyzer/storages/holder_names.h"
#include "analyzer/storages/storage_bytes.h"

namespace dcmt::analyzer {
namespace {

/// The readings between the round of each storage of a series and the birth of the next storage.
struct UseEvidence {
  /// Variables other than the keeper that lead to a storage. True: it is the variable's value, and not only in an
  /// object.
  std::map<std::string, bool> variables;
  bool let_go = false;  ///< some reading found only the keeper
};

class ReadingsBetween {
 public:
  /// @param holding  what keeps storages, also under other names
  ReadingsBetween(const TraceData& data, const Holding& holding) : data_(data), holding_(holding) {}

  void add(const Living& living, const Living& next, UseEvidence& evidence) const {
    std::set<ScanId> kept;
    std::set<ScanId> used;
    const auto found = [&](const Scan& scan, std::string_view path) {
      if (scan.from < living.round_end || scan.from >= next.storage->span.from_seq) return;
      const bool keeps = holding_.keeps(path);
      (keeps ? kept : used).insert(scan.id);
      if (keeps) return;
      const std::string variable(variable_at_root(path));
      const std::string_view rest = path.substr(variable.size());
      evidence.variables[variable] |= rest.empty() || rest.starts_with(".grad_fn");
    };
    for (const OwnerPath& path : data_.owners.paths_to(living.storage->id)) {
      if (!path.confirmed) continue;
      for (const Scan& scan : data_.owners.scans) {
        if (path.scan <= scan.id && scan.id <= path.last_scan) found(scan, data_.text(path.path));
      }
    }
    for (const FoundIn& each : data_.owners.where_found(living.storage->id)) {
      const Scan* scan = data_.owners.scan(each.scan);
      if (scan == nullptr || leads_to_what_keeps(living.storage->id, each.scan)) continue;
      found(*scan, data_.text(data_.owners.container(each.container)->path));
    }
    evidence.let_go |= std::ranges::any_of(kept, [&](ScanId scan) { return !used.contains(scan); });
  }

 private:
  /// True if a container that this reading found leads, with one entry, through the keeper, which was no container yet:
  /// the modules of a model whose hook has the list.
  [[nodiscard]] bool leads_to_what_keeps(StorageId storage, ScanId scan) const {
    const auto paths = data_.owners.paths_to(storage);
    const bool is_kept = std::ranges::any_of(paths, [&](const OwnerPath& path) {
      return path.scan <= scan && scan <= path.last_scan && holding_.keeps(data_.text(path.path));
    });
    return is_kept && std::ranges::none_of(data_.owners.where_found(storage), [&](const FoundIn& each) {
             return each.scan == scan && holding_.adding().contains(each.container);
           });
  }

  const TraceData& data_;
  const Holding& holding_;
};

/// The end of its round; for an open round, after all others.
Sequence end_of(const Living& living) {
  return living.round_end.valid() ? living.round_end : Sequence(std::numeric_limits<std::int64_t>::max());
}

/// The end of the recorded tensors of a storage; zero if one of them is alive.
Sequence end_of_tensors(const TraceData& data, StorageId storage) {
  Sequence end;
  for (const Tensor* tensor : data.tensors_by_storage.of(storage)) {
    if (!tensor->span.ended()) return {};
    end = std::max(end, tensor->span.to_seq);
  }
  return end;
}

/// The innermost one.
FrameId frame_of(const TraceData& data, StackId id) {
  const Stack* stack = data.stacks.find(id);
  return stack != nullptr ? stack->frame : FrameId();
}

/// True if the path to what holds a storage begins with the variable.
bool leads_to(const TraceData& data, std::string_view variable, const HeldBy& by) {
  const auto begins = [&](StringId path) { return variable_at_root(data.text(path)) == variable; };
  return (by.path != nullptr && begins(by.path->path)) ||
         std::ranges::any_of(by.containers, [&](ContainerId id) { return begins(data.owners.container(id)->path); });
}

bool only_some_rounds_make(const Series& series) {
  return 2 * (series.back()->round - series.front()->round) >= 3 * (series.size() - 1);
}

}  // namespace

/// Series whose storages are dropped together.
struct OwnUse::Uses {
  std::vector<Series> series;
  bool until_made = false;  ///< until the next storages have been made, not only until they begin to be made
};

OwnUse::OwnUse(const TraceData& data, const Holding& holding, const GrowingSites& growing)
    : data_(data),
      not_kept_(data, growing),
      statements_(data, growing),
      next_values_(data, statements_),
      by_readings_(data, holding, next_values_) {
  std::map<FrameId, int> places_of;  // growing ones that a frame led to
  for (const auto& [id, site] : growing.sites) {
    const Stack* stack = data.stacks.find(id);
    for (; stack != nullptr; stack = data.stacks.find(stack->parent)) ++places_of[stack->frame];
  }
  std::map<std::string, Uses> of_variables;
  for (const auto& [stack, site] : growing.sites) {
    if (statements_.deletes(stack)) deletes_.insert(stack);
    // A statement that makes more than its value has given the variable the next one only when all of it is made.
    const bool makes_only_it = places_of[frame_of(data, stack)] == 1;
    const auto given = makes_only_it ? statements_.given_values(stack) : std::set<std::string_view>();
    if (!given.empty()) add_next_values(site);
    const std::set<std::string_view> having = add_by_statement(stack, site);
    const UsualHolders usual(data, holding, site);
    const ReadingsBetween readings(data, holding);
    by_readings_.begin(site);
    Uses of_site;
    for (const Series& series : series_of(site)) {
      const HeldBy keeping = usual.of(series.front()->position);
      const bool is_said = by_statement_.contains(series.front()->storage->id);
      by_readings_.add(series);
      UseEvidence evidence;
      for (std::size_t i = 0; i + 1 < series.size(); ++i) readings.add(*series[i], *series[i + 1], evidence);
      for (const auto& [variable, is_value] : evidence.variables) {
        // Another path from the variable that leads to the keeper is no other use.
        if (having.contains(last_name(variable)) || (is_said && leads_to(data, variable, keeping))) continue;
        if (is_value && given.contains(last_name(variable))) {
          for (const Living* each : series) own_values_.insert(each->storage->id);
          continue;
        }
        if (std::ranges::any_of(series, [&](const Living* each) { return by_readings_.says(*each, variable); }))
          continue;
        of_variables[variable].series.push_back(series);
        of_variables[variable].until_made |= is_value;
      }
      const bool has_others =
          std::ranges::all_of(series, [this](const Living* each) { return not_kept_.until(*each).has_value(); });
      const bool is_read =
          std::ranges::any_of(series, [this](const Living* each) { return is_seen(each->storage->id); });
      const bool is_open = evidence.variables.empty() && !evidence.let_go && !has_others && !is_read;
      if (is_open && !is_said && only_some_rounds_make(series)) of_site.series.push_back(series);
    }
    add(of_site);
  }
  for (const auto& [variable, uses] : of_variables) add(uses, variable);
  add_turns(growing);
}

std::set<std::string_view> OwnUse::add_by_statement(StackId stack, const OutlivingSite& site) {
  std::set<std::string_view> variables;
  std::optional<StatementUse::Statement> statement = statements_.statement_of(stack);
  if (!statement) return variables;
  for (const Living& living : site.living) {
    const std::optional<StatementUse::Use> use = statements_.of(*statement, *living.storage);
    if (!use || !use->until.valid() || by_readings_.is_of_ended_call(*living.storage)) continue;
    Sequence until = use->until;
    // Comparable storages that nothing keeps have shown how long the way to the value is.
    if (use->variable.empty()) until = std::min(until, not_kept_.until(living).value_or(until));
    by_statement_.emplace(living.storage->id, until);
    if (!use->variable.empty()) variables.insert(use->variable);
  }
  if (!site.replaces() || site.living.size() > 1) return variables;
  const Storage* smallest = site.living.front().replaced.front();
  const Storage* first = statements_.replaced_by(*statement, *smallest);
  if (first == nullptr) return variables;
  std::optional<StatementUse::Statement> of_first = statements_.statement_of(first->birth.stack);
  const auto use = of_first ? statements_.of(*of_first, *first) : std::nullopt;
  // The variable kept it if the program needed it no more by then.
  if (use && use->until.valid() && use->until < smallest->span.from_seq)
    first_replaced_[stack] = {.storage = first->id, .bytes = first->bytes, .needed_until = use->until};
  return variables;
}

void OwnUse::add_turns(const GrowingSites& growing) {
  struct Turn {
    Sequence from, to;  ///< births of the storage and of a later one of its place
    Sequence* end;
  };
  std::vector<Turn> turns;
  const auto add_to = [&](const Series& series, Sequence Dropped::*member) {
    for (std::size_t i = 0; i < series.size(); ++i) {
      const Storage& storage = *series[i]->storage;
      turns.push_back({storage.span.from_seq,
                       i + 1 < series.size() ? series[i + 1]->storage->span.from_seq : growing.end,
                       &(dropped_[storage.id].*member)});
    }
  };
  for (const auto& [stack, site] : growing.sites) {
    Series all;
    for (const Living& living : site.living) all.push_back(&living);
    add_to(all, &Dropped::before_next);
    for (const Series& series : series_of(site)) add_to(series, &Dropped::before_next_of_kind);
  }
  std::ranges::sort(turns, {}, &Turn::from);
  std::vector<const Storage*> born;
  for (const Storage& storage : data_.storages) {
    if (storage.bytes.value > 0 && storage.span.ended()) born.push_back(&storage);
  }
  std::ranges::sort(born, {}, [](const Storage* each) { return each->span.from_seq; });
  std::set<Sequence> ends;  // of those that were born by then
  auto next = born.begin();
  for (const Turn& turn : turns) {
    for (; next != born.end() && (*next)->span.from_seq <= turn.from; ++next) ends.insert((*next)->span.to_seq);
    const auto after = ends.upper_bound(turn.to);
    if (after != ends.begin() && *std::prev(after) > turn.from) *turn.end = *std::prev(after);
  }
}

void OwnUse::add(const Uses& uses, std::string_view variable) {
  std::map<Sequence, Sequence> made;  // by the end of the round: the last or the first one of it
  for (const Series& series : uses.series) {
    for (const Living* each : series) {
      const Sequence one = uses.until_made ? each->storage->span.from_seq : begin_of(data_, *each->storage);
      const auto [at, is_new] = made.try_emplace(end_of(*each), one);
      if (!is_new) at->second = uses.until_made ? std::max(at->second, one) : std::min(at->second, one);
    }
  }
  for (const Series& series : uses.series) {
    for (const Living* each : series) {
      const auto next = made.upper_bound(end_of(*each));
      const auto [until, is_new] = until_.try_emplace(each->storage->id, end_of(*each));
      // The last ones are the variable's until its function has ended.
      const Sequence ends = next != made.end() ? next->second : next_values_.end_of_function(variable, end_of(*each));
      if (!ends.valid()) {
        until->second.reset();
      } else if (until->second) {
        until->second = std::max(*until->second, ends);
      }
    }
  }
}

void OwnUse::add_next_values(const OutlivingSite& site) {
  for (std::size_t i = 0; i + 1 < site.living.size(); ++i) {
    next_ones_[site.living[i].storage->id] = site.living[i + 1].storage->span.from_seq;
  }
}

std::vector<Sequence> OwnUse::runs_of(const std::vector<StoringStatement>& statements) {
  std::vector<Sequence> all;
  for (const StoringStatement& each : statements) {
    const std::vector<Sequence> runs = next_values_.runs_of(each.file, each.line);
    if (runs.empty()) return {};
    std::ranges::move(runs, std::back_inserter(all));
  }
  std::ranges::sort(all);
  return all;
}

std::optional<Sequence> OwnUse::until(const Living& living) const {
  const StorageId storage = living.storage->id;
  const auto found = until_.find(storage);
  const std::optional<Sequence> seen = by_readings_.until(storage);
  const auto said = by_statement_.find(storage);
  if (said != by_statement_.end() || (seen && !by_readings_.is_open(storage))) {
    const Sequence until = said != by_statement_.end() ? std::max(said->second, seen.value_or(said->second)) : *seen;
    if (found == until_.end()) return until;
    return found->second ? std::optional(std::max(until, *found->second)) : std::nullopt;
  }
  const auto value = next_ones_.find(storage);
  const std::optional<Sequence> next = value != next_ones_.end() ? std::optional(value->second) : std::nullopt;
  const bool is_own_value = own_values_.contains(storage);
  if (found != until_.end()) {
    if (!is_own_value || !found->second) return found->second;
    return next ? std::max(next, found->second) : std::nullopt;
  }
  if (is_own_value) return next;
  return until_end_of_round(living);
}

bool OwnUse::is_by_round(const Living& living) const {
  const StorageId storage = living.storage->id;
  const bool is_said = by_statement_.contains(storage) || until_.contains(storage) || own_values_.contains(storage) ||
                       by_readings_.until(storage) || not_kept_.until(living);
  return !is_said && until_end_of_round(living) == living.round_end;
}

std::optional<Sequence> OwnUse::until_end_of_round(const Living& living) const {
  std::optional<Sequence> until = not_kept_.until(living);
  const auto sooner = [&](Sequence at) { until = std::min(at, until.value_or(at)); };
  if (living.round_end.valid()) sooner(living.round_end);
  const Dropped& dropped = dropped_.at(living.storage->id);
  const bool deletes = deletes_.contains(living.storage->birth.stack);
  if (deletes && dropped.before_next_of_kind.valid()) sooner(dropped.before_next_of_kind);
  // If its first tensor has ended, a view keeps it. Other views may have been of use for longer.
  if (const Sequence ended = end_of_tensors(data_, living.storage->id); ended.valid() && dropped.before_next.valid())
    sooner(std::max(ended, dropped.before_next));
  return until;
}

}  // namespace dcmt::analyzer
