#include "analyzer/compare/graph_difference.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "analyzer/storages/live_set.h"

namespace dcmt::analyzer {
namespace {

const SavedFact* field_in(const GraphFacts& facts, const SavedFieldName& name) {
  const auto found = std::ranges::find(facts.fields, name, &SavedFact::name);
  return found != facts.fields.end() ? &*found : nullptr;
}

/// The bytes that may belong to any field.
std::int64_t bytes_not_known(const GraphFacts& facts) {
  const SavedFact* const unnamed = field_in(facts, {});
  return facts.not_known.value + (unnamed != nullptr ? unnamed->bytes.value : 0);
}

}  // namespace

// A reading may find a storage before a node saves it, and another one of its kind afterwards.
Graphs::Graphs(const TraceData& data) : data_(data), holders_(data) {
  std::unordered_map<StringId, std::optional<SavedFieldName>> known;
  for (const OwnerPath& owner : data.owners.paths) {
    if (!owner.confirmed) continue;
    const auto [at, fresh] = known.try_emplace(owner.path);
    if (fresh) at->second = saved_field_of(data.text(owner.path));
    const Storage* storage = at->second ? data.storages.find(owner.storage) : nullptr;
    if (storage != nullptr) fields_[{storage->birth.stack, storage->bytes}].insert(*at->second);
  }
}

GraphFacts Graphs::at(StringId device, Sequence seq) const {
  GraphFacts facts;
  facts.readings = static_cast<std::int64_t>(data_.owners.scans.size());
  if (facts.readings == 0) return facts;
  std::map<SavedFieldName, SavedFact> sums;
  for (const Block* block : live_blocks(data_, device, seq)) {
    const Storage* storage = data_.storages.find(block->storage);
    if (storage == nullptr || is_gathered(data_, storage->id)) continue;
    const std::string category = holders_.category_of(storage->id);
    if (!is_purpose(category)) facts.not_known.value += block->bytes.value;
    if (category != kSavedForBackward) continue;
    const auto found = fields_.find({storage->birth.stack, storage->bytes});
    SavedFact& sum = sums[found != fields_.end() ? *found->second.begin() : SavedFieldName()];
    ++sum.storages;
    sum.bytes.value += block->bytes.value;
    facts.bytes.value += block->bytes.value;
  }
  for (auto& [name, sum] : sums) facts.fields.push_back({name, sum.storages, sum.bytes});
  return facts;
}

std::string_view name_of(ChangeKind became) {
  switch (became) {
    case ChangeKind::kCame:
      return "came";
    case ChangeKind::kWent:
      return "went";
    case ChangeKind::kGrew:
      return "grew";
    case ChangeKind::kShrank:
      return "shrank";
  }
  return "";
}

ChangeKind became(Bytes before, Bytes after) {
  if (before.value == 0) return ChangeKind::kCame;
  if (after.value == 0) return ChangeKind::kWent;
  return after > before ? ChangeKind::kGrew : ChangeKind::kShrank;
}

GraphDifference graph_difference(const GraphFacts& before, const GraphFacts& after) {
  GraphDifference difference;
  difference.compared = before.readings > 0 && after.readings > 0;
  if (!difference.compared) return difference;
  difference.before = before.bytes;
  difference.after = after.bytes;
  difference.before_not_known = before.not_known;
  difference.after_not_known = after.not_known;
  std::set<SavedFieldName> names;
  for (const GraphFacts* facts : {&before, &after}) {
    for (const SavedFact& fact : facts->fields) names.insert(fact.name);
  }
  static const SavedFact kNone;
  for (const SavedFieldName& name : names) {
    const SavedFact* const found_before = field_in(before, name);
    const SavedFact* const found_after = field_in(after, name);
    const SavedFact& was = found_before != nullptr ? *found_before : kNone;
    const SavedFact& is = found_after != nullptr ? *found_after : kNone;
    if (was.bytes == is.bytes && was.storages == is.storages) {
      ++difference.kept_fields;
      difference.kept.value += is.bytes.value;
      continue;
    }
    const std::int64_t change = is.bytes.value - was.bytes.value;
    difference.fields.push_back(
        {became(was.bytes, is.bytes), name.node, name.field, was.storages, is.storages, was.bytes, is.bytes,
         !name.node.empty() && bytes_not_known(change < 0 ? after : before) < std::abs(change)});
  }
  std::ranges::stable_sort(difference.fields, [](const SavedDifference& a, const SavedDifference& b) {
    return std::abs(a.after.value - a.before.value) > std::abs(b.after.value - b.before.value);
  });
  return difference;
}

}  // namespace dcmt::analyzer
