#include "analyzer/replay/replay_levels.h"

#include <algorithm>
#include <utility>

#include "analyzer/time/curve.h"

namespace dcmt::analyzer {
namespace {

/// The allocated curve without the buffers, event by event.
class Rest {
 public:
  Rest(const TraceData& data, StringId device, const std::vector<OwnedBytes>& owned) {
    for (const CurvePoint& point : allocated_curve(data, device))
      changes_.push_back({point.seq, point.bytes.value, false});
    for (const OwnedBytes& one : owned) {
      changes_.push_back({one.from, one.bytes.value, true});
      if (one.to.valid()) changes_.push_back({one.to, -one.bytes.value, true});
    }
    std::stable_sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  }

  /// The next sequence with a change; zero if there is none.
  [[nodiscard]] Sequence next() const { return at_ < changes_.size() ? changes_[at_].at : Sequence(); }
  void apply_next() {
    for (const Sequence point = next(); at_ < changes_.size() && changes_[at_].at == point; ++at_) {
      const Change& change = changes_[at_];
      if (change.of_buffers) {
        buffers_ += change.bytes;
      } else {
        total_ = change.bytes;
      }
    }
  }
  [[nodiscard]] std::int64_t total() const { return total_; }
  [[nodiscard]] std::int64_t height() const { return std::max<std::int64_t>(total_ - buffers_, 0); }

 private:
  struct Change {
    Sequence at;
    std::int64_t bytes;  ///< growth of the buffers; else the new height of the curve
    bool of_buffers;
  };
  std::vector<Change> changes_;
  std::size_t at_ = 0;
  std::int64_t total_ = 0, buffers_ = 0;
};

}  // namespace

void add_levels(const TraceData& data, const std::vector<OwnedBytes>& owned, ReplayPlan& plan) {
  const Sequence begin = plan.region.from;
  const Sequence end = plan.region.to;
  const std::vector<ReplayEvent> events = std::exchange(plan.events, {});
  Rest rest(data, plan.device, owned);
  while (rest.next().valid() && rest.next() < begin) rest.apply_next();
  plan.begin = Bytes(rest.total());

  std::int64_t level = 0;
  const auto emit = [&](Sequence at, std::int64_t bytes) {
    ReplayEvent event;
    event.at = at;
    event.bytes = Bytes(bytes);
    plan.events.push_back(event);
    level = bytes;
  };
  emit(begin, rest.height());
  std::int64_t most = level;
  const auto advance = [&](Sequence until) {
    while (rest.next().valid() && rest.next() < until) {
      rest.apply_next();
      most = std::max(most, rest.height());
    }
  };
  const auto flush = [&](Sequence at) {
    if (most > level && most > rest.height()) emit(at, most);
    if (level != rest.height()) emit(at, rest.height());
    most = level;
  };
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Sequence at = events[i].at;
    advance(std::min(at, end));
    flush(at);
    plan.events.push_back(events[i]);
    // Changes at one sequence come after all events at this sequence.
    const bool last_of_point = i + 1 == events.size() || events[i + 1].at > at;
    if (last_of_point && at < end) advance(Sequence(at.value + 1));
  }
  advance(end);
  flush(end);
}

}  // namespace dcmt::analyzer
