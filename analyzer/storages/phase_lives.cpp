#include "analyzer/storages/phase_lives.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace dcmt::analyzer {
namespace {

constexpr std::int64_t kFewestEnds = 3;
constexpr std::size_t kSample = 200'000;  // storages

}  // namespace

PhaseLives::PhaseLives(const TraceData& data) {
  const PhaseIndex phases(data);
  const std::vector<Step> steps = steps_of(data);
  const auto is = [&data](const Mark* phase, std::string_view name) {
    return phase != nullptr && data.text(phase->name) == name;
  };
  const std::size_t every = data.storages.size() / kSample + 1;
  std::size_t i = 0;
  for (const Storage& storage : data.storages) {
    if (i++ % every != 0 || !storage.span.ended()) continue;
    Ends& ends = ends_[{storage.birth.stack, storage.bytes}];
    ++ends.all;
    const Mark* const begin = phases.at(storage.span.from_seq);
    const Mark* const end = phases.at(storage.span.to_seq);
    if (end == nullptr) continue;
    if (begin == end) {
      ++ends.temporary;
    } else if (is(end, "backward") && (begin == nullptr || is(begin, "forward")) &&
               step_at(steps, storage.span.from_seq) == step_at(steps, storage.span.to_seq)) {
      ++ends.in_backward;
    }
  }
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
