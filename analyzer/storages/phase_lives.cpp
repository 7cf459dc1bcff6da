#include "analyzer/storages/phase_lives.h"

#include <vector>

namespace dcmt::analyzer {
namespace {

constexpr std::int64_t kFewestEnds = 3;

}  // namespace

PhaseLives::PhaseLives(const TraceData& data) {
  const PhaseIndex phases(data);
  const std::vector<Step> steps = steps_of(data);
  each_of_sample(data, [&](const Storage& storage) {
    if (!storage.span.ended()) return;
    Ends& ends = ends_[{storage.birth.stack, storage.bytes}];
    ++ends.all;
    const Mark* const begin = phases.at(storage.span.from_seq);
    const Mark* const end = phases.at(storage.span.to_seq);
    if (end == nullptr) return;
    if (begin == end) {
      ++ends.temporary;
    } else if (is_phase(data, end, "backward") && (begin == nullptr || is_phase(data, begin, "forward")) &&
               step_at(steps, storage.span.from_seq) == step_at(steps, storage.span.to_seq)) {
      ++ends.in_backward;
    }
  });
}

std::optional<std::string_view> PhaseLives::category_of(StackId made, Bytes size) const {
  const auto found = ends_.find({made, size});
  if (found == ends_.end() || found->second.all < kFewestEnds) return std::nullopt;
  const Ends& ends = found->second;
  if (ends.temporary == ends.all) return kTemporary;
  if (ends.in_backward == ends.all) return kSavedForBackward;
  return std::nullopt;
}

}  // namespace dcmt::analyzer
