#include "analyzer/releases/lost_stretches.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dcmt::analyzer {
namespace {

/// A thread reports its losses with its next record, together with the time of the first one. The last block that had
/// begun by then provides a sequence.
Sequence begin_of(const TraceData& data, const Loss& loss) {
  if (!loss.from_ns.valid()) return loss.from_seq;
  const auto& blocks = data.blocks_by_begin;
  const auto later = std::upper_bound(blocks.begin(), blocks.end(), loss.from_ns,
                                      [](TimeNs at, const auto& entry) { return at < entry.second->span.from_ns; });
  return later == blocks.begin() ? Sequence() : std::min(loss.from_seq, std::prev(later)->first);
}

}  // namespace

LostStretches::LostStretches(const TraceData& data) {
  for (const Loss& loss : data.losses) stretches_.push_back({begin_of(data, loss), loss.to_seq, loss.count});
  std::sort(stretches_.begin(), stretches_.end(), [](const Stretch& a, const Stretch& b) { return a.from < b.from; });
  std::vector<Stretch> apart;
  for (const Stretch& stretch : stretches_) {
    if (!apart.empty() && stretch.from <= apart.back().to) {
      apart.back().to = std::max(apart.back().to, stretch.to);
      apart.back().count += stretch.count;
    } else {
      apart.push_back(stretch);
    }
  }
  stretches_ = std::move(apart);
}

bool LostStretches::touch(Sequence from, Sequence until) const {
  const auto first = std::lower_bound(stretches_.begin(), stretches_.end(), from,
                                      [](const Stretch& stretch, Sequence at) { return stretch.to <= at; });
  return first != stretches_.end() && (!until.valid() || first->from <= until);
}

}  // namespace dcmt::analyzer
