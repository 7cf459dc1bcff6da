#include "analyzer/storages/phase_lives.h"

#include <algorithm>

#include "analyzer/storages/one_by_one.h"

namespace dcmt::analyzer {
namespace {

constexpr std::int64_t kFewestEnds = 3;

bool lies_inside(const Mark& phase, const Mark& other) {
  return other.span.from_seq < phase.span.from_seq && (!other.span.ended() || phase.span.to_seq <= other.span.to_seq);
}

/// True if it is made before a backward: in the step's forward, outside of phases, or in the optimizer's step if that
/// calls the backward.
bool comes_before(const TraceData& data, const Mark* made, const Mark& backward) {
  return made == nullptr || is_phase(data, made, "forward") ||
         (is_phase(data, made, "optimizer") && lies_inside(backward, *made));
}

}  // namespace

bool was_met_in_backward(const TraceData& data, const PhaseIndex& phases, const Held& held) {
  if (!held.role.empty()) return false;
  const Storage* const storage = data.storages.find(held.storage);
  const Scan* const scan = data.owners.scan(held.scan);
  if (storage == nullptr || scan == nullptr) return false;
  const Mark* const read_in = phases.at(scan->from);
  return read_in != nullptr && is_phase(data, read_in, "backward") &&
         is_phase(data, phases.at(storage->span.from_seq), "forward");
}

void PhaseLives::Ends::add(const Ends& one, Bytes of) {
  if (!size.valid()) size = of;
  sizes_differ = sizes_differ || of != size;
  all += one.all;
  temporary += one.temporary;
  in_backward += one.in_backward;
  to_next_step += one.to_next_step;
  replaced += one.replaced;
  later += one.later;
  read += one.read;
}

PhaseLives::PhaseLives(const TraceData& data) : phases_(data), steps_(steps_of(data)) {
  std::vector<const Storage*> sample;
  each_of_sample(data, [&](const Storage& storage) { sample.push_back(&storage); });
  if (sample.size() == data.storages.size()) {
    for (const Storage* storage : sample) begun_[storage->birth.stack].push_back(storage->span.from_seq);
    for (auto& [place, begun] : begun_) std::ranges::sort(begun);
  }
  for (const Storage* storage : sample) {
    if (!storage->span.ended()) continue;
    const Step* const step = step_at(steps_, storage->span.from_seq);
    const Turn turn = turn_of(*storage, step);
    add(*storage, turn, life_of(data, *storage, step, turn));
  }
  if (!begun_.empty()) find_one_by_one(sample);
  for (const Held& held : data.owners.held) {
    const Storage* storage = data.storages.find(held.storage);
    if (storage == nullptr) continue;
    const std::int64_t read = was_met_in_backward(data, phases_, held) ? 0 : 1;
    add(*storage, turn_of(*storage, step_at(steps_, storage->span.from_seq)), {.read = read});
    if (held.role == kParameter) ++parameters_[storage->bytes];
  }
}

void PhaseLives::add(const Storage& storage, Turn turn, const Ends& ends) {
  by_size_[{storage.birth.stack, storage.bytes}].add(ends, storage.bytes);
  if (turn) by_turn_[{storage.birth.stack, *turn}].add(ends, storage.bytes);
}

void PhaseLives::find_one_by_one(const std::vector<const Storage*>& all) {
  ByPlaceAndSize<std::vector<const Storage*>> candidates;
  for (const Storage* storage : all) {
    const PlaceAndSize of{storage->birth.stack, storage->bytes};
    const auto ends = by_size_.find(of);
    if (ends != by_size_.end() && ends->second.all >= kFewestEnds && ends->second.later == ends->second.all) {
      candidates[of].push_back(storage);
    }
  }
  for (const auto& [of, alike] : candidates) by_size_[of].one_by_one = replaced_one_by_one(alike, steps_);
}

PhaseLives::Ends PhaseLives::life_of(const TraceData& data, const Storage& storage, const Step* first,
                                     Turn turn) const {
  Ends life{.all = 1};
  const Mark* const begin = phases_.at(storage.span.from_seq);
  const Mark* const end = phases_.at(storage.span.to_seq);
  const Step* const last = step_at(steps_, storage.span.to_seq);
  const bool ends_in_backward = end != nullptr && is_phase(data, end, "backward");
  if (first != last && !ends_in_backward) life.later = 1;
  if (begin != nullptr && begin == end) {
    life.temporary = 1;
  } else if (first == last && ends_in_backward && comes_before(data, begin, *end)) {
    life.in_backward = 1;
  } else if (first != last && begin != nullptr && is_phase(data, begin, "backward")) {
    life.to_next_step = 1;
  } else if (first != nullptr && last == first + 1 && !ends_in_backward && has_successor(storage, turn, *last)) {
    life.replaced = 1;
  } else if (last == nullptr && (first == nullptr || first == &steps_.back())) {
    life = {};
  }
  return life;
}

bool PhaseLives::has_successor(const Storage& storage, Turn turn, const Step& next) const {
  if (!turn || next.sums.value != 0) return false;
  const std::vector<Sequence>& begun = begun_.at(storage.birth.stack);
  const auto first = std::ranges::lower_bound(begun, next.from);
  return begun.end() - first > *turn && first[*turn] < storage.span.to_seq;
}

PhaseLives::Turn PhaseLives::turn_of(const Storage& storage, const Step* step) const {
  if (step == nullptr || step->sums.value != 0) return std::nullopt;
  const auto place = begun_.find(storage.birth.stack);
  if (place == begun_.end()) return std::nullopt;
  const auto first = std::ranges::lower_bound(place->second, step->from);
  return std::ranges::lower_bound(place->second, storage.span.from_seq) - first;
}

std::optional<std::string_view> PhaseLives::category_of(const Ends& ends, bool own_counts) {
  if (ends.read != 0 || ends.all == 0) return std::nullopt;
  const bool enough = ends.all >= kFewestEnds;
  if (ends.temporary == ends.all && (own_counts || enough)) return kTemporary;
  if (!enough) return std::nullopt;
  if (ends.in_backward == ends.all) return kSavedForBackward;
  if (ends.replaced == ends.all) return kReplaced;
  return std::nullopt;
}

bool PhaseLives::are_gradients(const Ends& ends, const Storage& storage) const {
  if (ends.read != 0 || ends.all < kFewestEnds || ends.to_next_step != ends.all || ends.sizes_differ) return false;
  const auto parameters = parameters_.find(storage.bytes);
  const auto of_size = by_size_.find({storage.birth.stack, storage.bytes});
  return parameters != parameters_.end() && of_size != by_size_.end() &&
         of_size->second.to_next_step <= parameters->second * static_cast<std::int64_t>(steps_.size());
}

bool PhaseLives::outlives_its_phase(const Storage& storage) const {
  const Mark* const begin = phases_.at(storage.span.from_seq);
  if (storage.span.ended()) return phases_.at(storage.span.to_seq) != begin;
  return begin != nullptr && begin->span.ended();
}

std::optional<std::string_view> PhaseLives::category_of(const Storage& storage) const {
  const std::optional<std::string_view> category = category_of_others(storage);
  // Others of its place and size were temporary; it was kept.
  return category == kTemporary && outlives_its_phase(storage) ? std::nullopt : category;
}

std::optional<std::string_view> PhaseLives::category_of_others(const Storage& storage) const {
  const auto alike = by_size_.find({storage.birth.stack, storage.bytes});
  if (alike != by_size_.end()) {
    if (are_gradients(alike->second, storage)) return kGradient;
    const bool own_counts = storage.span.ended() && !begun_.empty();
    if (const auto category = category_of(alike->second, own_counts)) return category;
    if (alike->second.one_by_one) return kReplaced;
  }
  const Turn turn = turn_of(storage, step_at(steps_, storage.span.from_seq));
  const auto in_turn = turn ? by_turn_.find({storage.birth.stack, *turn}) : by_turn_.end();
  if (in_turn == by_turn_.end()) return std::nullopt;
  return are_gradients(in_turn->second, storage) ? std::optional(kGradient) : category_of(in_turn->second, false);
}

}  // namespace dcmt::analyzer
