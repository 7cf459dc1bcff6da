#include "analyzer/storages/phase_lives.h"

#include <vector>

namespace dcmt::analyzer {
namespace {

constexpr std::int64_t kFewestEnds = 3;

}  // namespace

PhaseLives::PhaseLives(const TraceData& data) {
  const PhaseIndex phases(data);
  const std::vector<Step> steps = steps_of(data);
  steps_ = static_cast<std::int64_t>(steps.size());
  for (const Held& held : data.owners.held) {
    const Storage* storage = held.role == kParameter ? data.storages.find(held.storage) : nullptr;
    if (storage != nullptr) ++parameters_[storage->bytes];
  }
  each_of_sample(data, [&](const Storage& storage) {
    if (!storage.span.ended()) return;
    Ends& ends = ends_[{storage.birth.stack, storage.bytes}];
    ++ends.all;
    const Mark* const begin = phases.at(storage.span.from_seq);
    const Mark* const end = phases.at(storage.span.to_seq);
    const auto step_of = [&](Sequence seq) { return step_at(steps, seq); };
    const bool one_step = step_of(storage.span.from_seq) == step_of(storage.span.to_seq);
    if (begin != nullptr && begin == end) {
      ++ends.temporary;
    } else if (one_step && end != nullptr && is_phase(data, end, "backward") &&
               (begin == nullptr || is_phase(data, begin, "forward"))) {
      ++ends.in_backward;
    } else if (!one_step && begin != nullptr && is_phase(data, begin, "backward")) {
      ++ends.to_next_step;
    }
  });
}

std::optional<std::string_view> PhaseLives::category_of(StackId made, Bytes size) const {
  const auto found = ends_.find({made, size});
  if (found == ends_.end() || found->second.all < kFewestEnds) return std::nullopt;
  const Ends& ends = found->second;
  if (ends.temporary == ends.all) return kTemporary;
  if (ends.in_backward == ends.all) return kSavedForBackward;
  const auto parameters = parameters_.find(size);
  if (ends.to_next_step == ends.all && parameters != parameters_.end() && ends.all <= parameters->second * steps_)
    return kGradient;
  return std::nullopt;
}

}  // namespace dcmt::analyzer
