#include "analyzer/replay/replay_planner.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/replay/replay_buffers.h"
#include "analyzer/replay/replay_cycles.h"
#include "analyzer/replay/replay_levels.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::analyzer {
namespace {

class PlanBuilder {
 public:
  PlanBuilder(const Analysis& analysis, const ReplayRegion& region)
      : analysis_(analysis),
        data_(*analysis.data),
        region_(region),
        cycles_(analysis, region_),
        buffers_(data_, cycles_, plan_.buffers) {}

  Expected<ReplayPlan> build() {
    if (data_.sums_only_in(region_.from, Sequence(region_.to.value - 1)) != nullptr) {
      return Error{
          ErrorCode::kBadInput,
          "only sums of these steps are in the trace: record them with run --steps, or choose another --step."};
    }
    plan_.region = region_;
    plan_.cut_off = data_.meta_text(meta::kExit).starts_with("signal");
    plan_.device = cycles_.device();
    find_last_operator();
    for (const Cycle* cycle : cycles_.in_order()) add_cycle(*cycle);
    if (plan_.buffers.empty()) {
      return Error{ErrorCode::kBadInput, "nothing was gathered there: there is no release to replay."};
    }
    add_last_ends();
    make_pools_ahead();
    drop_parts_at_release();
    add_memory_errors();
    add_frame();
    // At one sequence, kForget comes first, then kDrop: a buffer that is forgotten is dropped with its last name, and
    // one that ends in the release of another key has no name afterwards.
    const auto order = [](const ReplayEvent& event) {
      return std::tuple(event.at, event.what != ReplayDo::kForget, event.what != ReplayDo::kDrop);
    };
    std::stable_sort(events_.begin(), events_.end(),
                     [&](const ReplayEvent& a, const ReplayEvent& b) { return order(a) < order(b); });
    plan_.prologue = 1;  // the first level
    for (ReplayEvent& event : events_) {
      if (event.at >= region_.from) break;
      event.at = Sequence(region_.from.value - 1);
      ++plan_.prologue;
    }
    plan_.events = std::move(events_);
    std::vector<OwnedBytes> owned;
    for (const auto& [buffer, bytes] : owned_) owned.push_back(bytes);
    add_levels(data_, owned, plan_);
    buffers_.number_parameters();
    plan_.facts = facts_in(analysis_, plan_.device, region_.from, region_.to, Bytes());
    for (const ReleaseRow& row : analysis_.releases.rows) {
      if (region_.has(row.mark->span.from_seq) && !replayable(row)) ++left_out_;
    }
    if (left_out_ > 0) {
      plan_.notes.push_back(
          "left out: releases that an error stopped, that had no gather, or that a mark inside announced: " +
          std::to_string(left_out_));
    }
    return std::move(plan_);
  }

 private:
  /// The latest buffer of a key.
  struct Current {
    bool gathered = false;
    std::size_t buffer = 0;
    const Block* block = nullptr;
    bool released = false;  ///< finally
    bool freed = false;     ///< by the release
    bool read_after_region = false;
    Sequence last;         ///< the latest event of the key so far
    Sequence end;          ///< end of the buffer's bytes; zero: they stay
    Sequence storage_end;  ///< end of the storage; zero: it stays
    bool ends_with_storage = true;
    ThreadId ending = kNoThread;
  };

  /// The begin of a buffer.
  struct Begin {
    const Mark* gather;
    const Block* block;
    Sequence at;  ///< sequence of its first gather in the replay
  };

  /// True for an event after the region that belongs to a cycle from before its end. So a parameter that was prefetched
  /// for the next step gets its release in the replay, too, and a release gets its later reads.
  [[nodiscard]] bool completes(Sequence at, const Cycle& cycle) const {
    return at >= region_.to && !cycle.persistent && !region_.steps.empty();
  }

  void find_last_operator() {
    const Operator* last = region_.steps.empty() ? last_operator(data_) : nullptr;
    if (last != nullptr && region_.has(end_of(*last))) last_operator_ = last;
  }

  void add(ReplayDo what, Sequence at, ThreadId thread, std::size_t buffer) {
    ReplayEvent event;
    event.what = what;
    event.at = at;
    event.thread = thread;
    event.buffer = buffer;
    events_.push_back(event);
  }

  void add_cycle(const Cycle& cycle) {
    const Mark& given = *ReplayCycles::given_by(cycle);
    const Block* block = cycles_.block_of(given);
    Bytes bytes = given.bytes.value_or(Bytes());
    if (bytes.value == 0 || (block != nullptr && block->device != plan_.device)) return;
    if (block != nullptr && bytes.value < block->bytes.value && alone_in(*block, given)) bytes = block->bytes;

    Current& now = current_[cycle.key()];
    const bool known = now.gathered && plan_.buffers[now.buffer].storage == given.storage && now.block == block;
    const bool again = known && !now.released;
    const Sequence begin = begin_of(cycle, given, known ? nullptr : block, now.last);
    if (now.gathered && !again) leave(now, begin, known, cycle.gather->by.thread);
    if (!again) {
      buffers_.add(cycle, given, bytes, block);
      begins_.push_back({cycle.gather, block, begin});
    }
    const std::size_t buffer = again ? now.buffer : plan_.buffers.size() - 1;
    now = Current();
    now.gathered = true;
    now.buffer = buffer;
    now.block = block;
    now.last = cycle.gather->span.from_seq;

    add(ReplayDo::kGather, begin, cycle.gather->by.thread, now.buffer);
    events_.back().again = again;
    for (const Mark* wait : cycle.waits) {
      if (region_.has(wait->span.from_seq)) add(ReplayDo::kWait, wait->span.from_seq, wait->by.thread, now.buffer);
    }
    find_end(cycle, given, now);
    add_releases(cycle, now);
    if (!again && plan_.buffers[buffer].shares.value_or(buffer) == buffer) {
      // A block from before the gather leaves the level first. Otherwise it would count twice.
      const bool was_there = !known && block != nullptr && block->span.from_seq < begin;
      owned_[buffer] = {Sequence(begin.value - (was_there ? 1 : 0)), now.end, bytes};
    }
  }

  /// Ends a key's buffer when the key is gathered again, into another storage or (`same`) into the same one.
  void leave(Current old, Sequence begin, bool same, ThreadId thread) {
    if (same && !plan_.buffers[old.buffer].shares) {
      old.storage_end = begin;
      owned_[old.buffer].to = begin;
    }
    const bool ended = old.end.valid() && old.end < begin;
    if (!old.released) add(ReplayDo::kForget, ended ? old.end : begin, ended ? old.ending : thread, old.buffer);
    add_end(old);
  }

  /// Finds when and how the bytes end.
  void find_end(const Cycle& cycle, const Mark& given, Current& now) const {
    const Storage* storage = data_.storages.find(given.storage);
    Maybe<Gone> gone;
    if (storage != nullptr) gone = first_gone(data_, *storage, given.span.from_seq);
    now.ending = cycle.gather->by.thread;
    if (gone) {
      now.end = gone->seq();
      now.ending = gone->actor().thread;
    }
    if (now.block != nullptr && now.block->span.ended()) now.end = now.block->span.to_seq;
    now.ends_with_storage = !gone || gone->by() == GoneBy::kStorageEnd;
    now.storage_end = now.ends_with_storage ? now.end : storage->span.to_seq;
  }

  void add_end(const Current& old) {
    const auto played = [&](Sequence at) { return at.valid() && (at < region_.to || old.read_after_region); };
    if (played(old.storage_end)) drop(old.buffer, old.storage_end, old.ending);
    // The bytes ended before the storage did: by a resize outside of a release, or earlier.
    if (!old.ends_with_storage && !old.freed && played(old.end)) {
      add(ReplayDo::kEmpty, old.end, old.ending, old.buffer);
    }
  }

  void drop(std::size_t buffer, Sequence at, ThreadId thread, bool inside_release = false) {
    if (!dropped_.insert(buffer).second) return;
    add(ReplayDo::kDrop, at, thread, buffer);
    events_.back().inside_release = inside_release;
  }

  /// Adds the ends of all buffers that no gather has replaced. A buffer that was not released and ends with the program
  /// stays.
  void add_last_ends() {
    for (const auto& [key, now] : current_) {
      if (!now.gathered) continue;
      const bool ends = !now.released && now.end.valid() && now.end < region_.to;
      if (ends && last_operator_ != nullptr && now.end > end_of(*last_operator_)) continue;
      if (ends) add(ReplayDo::kForget, now.end, now.ending, now.buffer);
      add_end(now);
    }
  }

  /// A pool may make buffers before it needs them: the buffers that exist show whether the pool left out one of them.
  void make_pools_ahead() {
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
      const auto& [gather, block, begin] = begins_[i];
      const auto owned = owned_.find(i);
      if (plan_.buffers[i].shares != i || block == nullptr || owned == owned_.end()) continue;
      const Sequence made = block->span.from_seq;
      if (made >= begin || begin < region_.from) continue;
      add(ReplayDo::kMake, made, gather->by.thread, i);
      owned->second.from = made;
    }
  }

  /// For parameters that share a storage, some of which were not inspected: the inspection of another one found all
  /// names, so theirs had ended with their own releases.
  void drop_parts_at_release() {
    const auto inspected = [](const ReplayBuffer& buffer) { return buffer.unnamed || !buffer.holders.empty(); };
    std::set<std::size_t> known;  // storages, by the first buffer in them
    for (const ReplayBuffer& buffer : plan_.buffers) {
      if (buffer.shares && inspected(buffer)) known.insert(*buffer.shares);
    }
    std::map<std::size_t, ReplayEvent> released;
    for (const ReplayEvent& event : events_) {
      const ReplayBuffer& buffer = plan_.buffers[event.buffer];
      const bool part = buffer.shares && known.contains(*buffer.shares) && !inspected(buffer);
      if (event.what == ReplayDo::kRelease && part) released[event.buffer] = event;
    }
    for (ReplayEvent& event : events_) {
      const auto release = released.find(event.buffer);
      if (event.what != ReplayDo::kDrop || release == released.end() || event.at < release->second.at) continue;
      event.at = release->second.at;
      event.inside_release = true;
    }
    for (const auto& [buffer, release] : released) drop(buffer, release.at, release.thread, true);  // the storage stays
  }

  /// True if the storage fills the whole block, except for the allocator's rounding.
  [[nodiscard]] bool alone_in(const Block& block, const Mark& given) const {
    constexpr std::int64_t kMostRounding = std::int64_t{2} << 20;
    return block.storage == given.storage && block.bytes.value - given.bytes->value < kMostRounding;
  }

  /// Where the buffer begins in the replay: at its block, unless an event of the key, another gather of the storage or
  /// the end of a step lies between the block and the gather.
  [[nodiscard]] Sequence begin_of(const Cycle& cycle, const Mark& given, const Block* block, Sequence last) const {
    const Sequence gather = cycle.gather->span.from_seq;
    if (gather < region_.from) return gather;
    if (&given != cycle.gather && given.span.from_seq >= region_.to) return gather;
    if (block == nullptr || block->span.from_seq <= last || block->span.from_seq < region_.from) return gather;
    for (const Mark* mark : data_.marks_by_storage.of(given.storage)) {
      const Sequence at = mark->span.from_seq;
      if (mark->gives_storage() && at >= block->span.from_seq && at < gather) return gather;
    }
    const bool same_step = std::none_of(region_.steps.begin(), region_.steps.end(), [&](const Step& step) {
      return block->span.from_seq < step.to && step.to <= gather;
    });
    return same_step ? block->span.from_seq : gather;
  }

  void add_releases(const Cycle& cycle, Current& now) {
    const Sequence end = now.end;
    for (const ReleaseRow* row : cycle.releases) {
      if (!replayable(*row)) continue;
      const bool counted_out = now.released;
      const Mark& mark = *row->mark;
      const Sequence from = mark.span.from_seq;
      const bool final = mark.flags.final && !mark.flags.persistent;
      const bool frees = final && end.valid() && end > from && end <= row->at();
      // The owner of the registered tensor has the last reference.
      if (frees && now.ends_with_storage && from < region_.to) drop(now.buffer, from, mark.by.thread, true);
      now.freed = now.freed || frees;
      now.last = std::max(now.last, row->at());
      now.released = now.released || final;
      const bool before = from < region_.from && !cycle.persistent;
      if (region_.has(from) || before || (completes(from, cycle) && !counted_out)) {
        add(ReplayDo::kRelease, frees ? end : row->at(), mark.by.thread, now.buffer);
        events_.back().users = mark.declared.value_or(1);
        events_.back().clears_tensor_only = !frees || now.ends_with_storage;
        if (mark.settled_seq.valid()) add(ReplayDo::kOperator, mark.settled_seq, mark.by.thread, now.buffer);
      }
      for (const Mark* read : row->reads()) {
        const Sequence at = read->span.from_seq;
        const bool later = region_.has(from) && completes(at, cycle);
        if (!region_.has(at) && !later) continue;
        now.read_after_region = now.read_after_region || later;
        add(ReplayDo::kRead, at, read->by.thread, now.buffer);
        events_.back().bytes = read->bytes.value_or(Bytes());
      }
    }
  }

  void add_memory_errors() {
    for (const OutOfMemory& error : data_.out_of_memory) {
      if (!region_.has(error.seq) || error.device != plan_.device) continue;
      add(ReplayDo::kMemory, error.seq, error.by.thread, 0);
      events_.back().bytes = error.requested;
    }
  }

  /// Adds the ends of steps. Without steps: the program's last operator, after which no release is expected.
  void add_frame() {
    for (const Step& step : region_.steps) {
      add(ReplayDo::kStep, step.to, kNoThread, 0);
      events_.back().step = step.number;
    }
    if (last_operator_ != nullptr) {
      add(ReplayDo::kOperator, end_of(*last_operator_), last_operator_->thread, 0);
    }
  }

  const Analysis& analysis_;
  const TraceData& data_;
  const ReplayRegion& region_;
  const ReplayCycles cycles_;
  const Operator* last_operator_ = nullptr;  ///< of the program; nullptr if steps end the region
  ReplayPlan plan_;
  ReplayBuffers buffers_;      ///< of the plan
  std::vector<Begin> begins_;  ///< by buffer
  std::vector<ReplayEvent> events_;
  std::map<std::size_t, OwnedBytes> owned_;  ///< by buffer
  std::map<Key, Current> current_;
  std::set<std::size_t> dropped_;
  std::int64_t left_out_ = 0;
};

}  // namespace

Expected<ReplayPlan> plan_of(const Analysis& analysis, const ReplayRegion& region) {
  return PlanBuilder(analysis, region).build();
}

}  // namespace dcmt::analyzer
