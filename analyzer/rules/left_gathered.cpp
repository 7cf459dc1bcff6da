#include "analyzer/rules/left_gathered.h"

#include <algorithm>
#include <set>

#include "analyzer/releases/lost_stretches.h"
#include "analyzer/storages/parameters.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer::rules {
namespace {

bool is_final(const ReleaseRow* row) { return row->mark->flags.final || row->mark->flags.persistent; }

bool finally_released(const Cycle& cycle) {
  return std::any_of(cycle.releases.begin(), cycle.releases.end(), is_final);
}

bool ended_by_itself(const TraceData& data) { return data.meta_text(meta::kExit).starts_with("exit"); }

/// The begins of backward passes.
class Backwards {
 public:
  explicit Backwards(const TraceData& data) {
    for (const Operator& op : data.operators) {
      if (op.scope == OperatorScope::kBackward) begins_.push_back(op.span.from_seq);
    }
    std::sort(begins_.begin(), begins_.end());
  }
  /// True if a backward began after `from` and before `until`.
  [[nodiscard]] bool between(Sequence from, Sequence until) const {
    const auto next = std::upper_bound(begins_.begin(), begins_.end(), from);
    return next != begins_.end() && *next < until;
  }

 private:
  std::vector<Sequence> begins_;
};

class Judge {
 public:
  Judge(const TraceData& data, const Releases& releases)
      : data_(data), steps_(releases.steps), lost_(data), backwards_(data) {
    const Operator* last = last_operator(data);
    work_end_ = last != nullptr ? end_of(*last) : last_sequence(data);
    for (const Cycle& cycle : releases.cycles) {
      if (!finally_released(cycle)) continue;
      released_.insert(cycle.key());
      const auto final = std::find_if(cycle.releases.begin(), cycle.releases.end(), is_final);
      if (!backwards_.between(cycle.gather->span.from_seq, (*final)->at())) without_backward_.insert(cycle.key());
    }
  }

  [[nodiscard]] std::optional<LeftGathered> left(const Cycle& cycle) const {
    if (cycle.persistent || finally_released(cycle)) return std::nullopt;
    const Mark* given = cycle.waits.empty() ? cycle.gather : cycle.waits.back();
    const Storage* storage = data_.storages.find(given->storage);
    const std::optional<Sequence> end = due(cycle);
    if (storage == nullptr || !end) return std::nullopt;
    const Bytes bytes = bytes_at(data_, *storage, given->span.from_seq);
    const Maybe<Gone> gone = first_gone(data_, *storage, given->span.from_seq);
    if (bytes.value == 0 || (gone && gone->seq() <= *end)) return std::nullopt;
    return LeftGathered{because(cycle, *end), item_of(cycle, *storage, bytes, gone)};
  }

 private:
  /// The point by which a release should have come; nullopt if the program was killed before it.
  [[nodiscard]] std::optional<Sequence> due(const Cycle& cycle) const {
    const Step* step = step_at(steps_, cycle.gather->span.from_seq);
    if (step != nullptr && step->to.valid()) return step->to;
    if (cycle.next_gather != nullptr) return cycle.next_gather->span.from_seq;
    return ended_by_itself(data_) ? std::optional(work_end_) : std::nullopt;
  }

  [[nodiscard]] LeftBecause because(const Cycle& cycle, Sequence end) const {
    const Sequence gather = cycle.gather->span.from_seq;
    if (lost_.touch(gather, end)) return LeftBecause::kNotKnown;
    if (cycle.next_gather != nullptr) end = std::min(end, cycle.next_gather->span.from_seq);
    // FSDP2 releases its root only in the backward, as documented. For others, an earlier cycle must have shown it.
    const bool fsdp2 = describe_graph(data_, cycle.key().graph) == "FSDP2";
    const bool by_backward = (fsdp2 || released_.contains(cycle.key())) && !without_backward_.contains(cycle.key()) &&
                             cycle.releases.empty();
    if (!by_backward) return LeftBecause::kNoRelease;
    // The trace does not say which model a backward is of. FSDP2's root is gathered once for many forwards, and stays
    // gathered through backwards of other models: those of a student after its teacher was evaluated.
    return fsdp2 || !backwards_.between(gather, end) ? LeftBecause::kNoBackward : LeftBecause::kNoRelease;
  }

  [[nodiscard]] FindingItem item_of(const Cycle& cycle, const Storage& storage, Bytes bytes,
                                    const Maybe<Gone>& gone) const {
    FindingItem item;
    item.key = cycle.key();
    item.storage = storage.id;
    item.bytes = bytes;
    item.since = cycle.gather->span.from_seq;
    item.since_ns = cycle.gather->span.from_ns;
    if (gone) {
      item.until = gone->seq();
      item.until_ns = gone->ns();
    }
    item.step = step_at(steps_, cycle.gather->span.from_seq);
    item.gather = cycle.gather;
    item.confidence = Confidence::kCertain;
    item.gone = gone;
    if (!cycle.releases.empty()) {
      item.row = cycle.releases.back();
      item.release = item.row->mark;
    }
    return item;
  }

  const TraceData& data_;
  const std::vector<Step>& steps_;
  LostStretches lost_;
  Backwards backwards_;
  Sequence work_end_;
  std::set<Key> released_;          ///< finally, in some cycle
  std::set<Key> without_backward_;  ///< of `released_`: released although no backward had run since the gather
};

}  // namespace

std::vector<LeftGathered> left_gathered(const TraceData& data, const Releases& releases) {
  const Judge judge(data, releases);
  std::vector<LeftGathered> all;
  for (const Cycle& cycle : releases.cycles) {
    if (std::optional<LeftGathered> left = judge.left(cycle)) all.push_back(std::move(*left));
  }
  return all;
}

}  // namespace dcmt::analyzer::rules
