#include "analyzer/devices/stream_races.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "analyzer/devices/stream_order.h"
#include "analyzer/releases/lost_stretches.h"

namespace dcmt::analyzer {
namespace {

/// The last use of a block on one stream.
struct LastUse {
  StreamOrder::Work work;
  const StreamCall* call;
};

struct UsedLife {
  const Block* block = nullptr;
  std::int64_t gpu = 0;
  std::int64_t begin = 0, end = 0;  ///< addresses
  std::vector<LastUse> uses;        ///< one for each stream
  bool captured = false;            ///< a graph uses it, at times that are not known
  std::set<std::int32_t> settled;   ///< streams that come after all former uses of the memory
  std::set<const UsedLife*> raced;  ///< former owners
};

/// The addresses of a GPU that were freed, each with its last owner.
class FreedMemory {
 public:
  void add(const UsedLife& life) {
    remove(life.begin, life.end);
    if (life.begin < life.end) pieces_[life.begin] = {life.end, &life};
  }
  /// Calls `visit` with each last owner of a part of these addresses.
  void each(std::int64_t begin, std::int64_t end, auto&& visit) const {
    auto piece = pieces_.upper_bound(begin);
    if (piece != pieces_.begin()) --piece;
    for (; piece != pieces_.end() && piece->first < end; ++piece) {
      if (piece->second.end > begin) visit(*piece->second.owner);
    }
  }
  /// The driver got these addresses back, which waits for all work.
  void remove(std::int64_t begin, std::int64_t end) {
    auto piece = pieces_.upper_bound(begin);
    if (piece != pieces_.begin()) --piece;
    while (piece != pieces_.end() && piece->first < end) {
      const std::int64_t from = piece->first;
      const Piece old = piece->second;
      if (old.end <= begin) {
        ++piece;
        continue;
      }
      piece = pieces_.erase(piece);
      if (from < begin) pieces_[from] = {begin, old.owner};
      if (old.end > end) piece = pieces_.insert_or_assign(end, Piece{old.end, old.owner}).first;
    }
  }

 private:
  struct Piece {
    std::int64_t end = 0;
    const UsedLife* owner = nullptr;
  };
  std::map<std::int64_t, Piece> pieces_;  ///< by begin; they do not overlap
};

class RaceSearch {
 public:
  explicit RaceSearch(const TraceData& data) : data_(data), lost_(data) {
    for (const UsedBlock& used : data.streams.blocks) {
      const Block* block = data.blocks.find(used.id);
      if (block == nullptr || !used.gpu) continue;
      UsedLife& life = lives_[used.id];
      life.block = block;
      life.gpu = *used.gpu;
      life.begin = used.address;
      life.end = used.address + std::min(block->bytes.value, std::numeric_limits<std::int64_t>::max() - used.address);
      if (block->span.ended()) frees_.emplace_back(block->span.to_seq, &life);
    }
    std::ranges::sort(frees_, {}, [](const auto& free) { return free.first; });
  }

  StreamRaces run() {
    auto free = frees_.begin();
    auto segment = ends_of_segments();
    std::size_t segments = 0;
    for (const StreamCall& call : data_.streams.calls) {
      for (; segments < segment.size() && segment[segments]->span.to_seq < call.seq; ++segments) {
        for (; free != frees_.end() && free->first < segment[segments]->span.to_seq; ++free) add_freed(*free->second);
        const std::int64_t begin = segment[segments]->address;
        freed_[segment[segments]->gpu.value_or(0)].remove(begin, begin + segment[segments]->bytes.value);
      }
      for (; free != frees_.end() && free->first < call.seq; ++free) add_freed(*free->second);
      see(call);
    }
    for (; free != frees_.end(); ++free) add_freed(*free->second);
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::vector<const Segment*> ends_of_segments() const {
    std::vector<const Segment*> ends;
    for (const Segment& segment : data_.allocators.segments) {
      if (segment.span.ended()) ends.push_back(&segment);
    }
    std::ranges::sort(ends, {}, [](const Segment* segment) { return segment->span.to_seq; });
    return ends;
  }

  void add_freed(const UsedLife& life) {
    ++result_.blocks;
    if (life.captured) ++result_.captured;
    // Without uses, its memory still has those of the owner before it.
    if (!life.uses.empty() || life.captured) freed_[life.gpu].add(life);
  }

  void see(const StreamCall& call) {
    switch (call.kind) {
      case StreamCallKind::kWork:
        return see_work(call);
      case StreamCallKind::kRecord:
        return order_.record(call.event, call.stream, call.blocks);
      case StreamCallKind::kWait:
        return order_.wait(call.stream, call.event, call.blocks);
      case StreamCallKind::kEventDone:
        return order_.event_done(call.event);
      case StreamCallKind::kStreamDone:
        return order_.stream_done(call.stream, call.blocks);
      case StreamCallKind::kAllDone:
        return order_.all_done();
      case StreamCallKind::kCaptureBegins:
        return order_.capture_begins(call.stream);
      case StreamCallKind::kCaptureEnds:
        return order_.capture_ends(call.stream);
    }
  }

  void see_work(const StreamCall& call) {
    const std::optional<StreamOrder::Work> work = order_.work(call.stream, call.blocks);
    for (const StreamUse& use : data_.streams.uses_of(call.seq)) {
      const auto found = lives_.find(use.block);
      if (found == lives_.end() || !found->second.block->span.covers(call.seq)) continue;
      UsedLife& life = found->second;
      if (!work) {
        life.captured = true;
        continue;
      }
      judge(life, call);
      const auto before =
          std::ranges::find(life.uses, call.stream, [](const LastUse& last) { return last.work.stream; });
      if (before != life.uses.end()) {
        *before = {*work, &call};
      } else {
        life.uses.push_back({*work, &call});
      }
    }
  }

  /// Compares a use with those of the memory's former owners.
  void judge(UsedLife& life, const StreamCall& call) {
    if (life.captured || life.settled.contains(call.stream)) return;
    bool all_before = true;
    freed_[life.gpu].each(life.begin, life.end, [&](const UsedLife& former) {
      if (former.captured) return;
      for (const LastUse& last : former.uses) {
        if (order_.is_before(last.work, call.stream, call.blocks)) continue;
        all_before = false;
        add_race(former, last, life, call);
      }
    });
    if (all_before) life.settled.insert(call.stream);
  }

  void add_race(const UsedLife& former, const LastUse& last, UsedLife& life, const StreamCall& call) {
    const bool is_known = former.block->stream != kNoStream && life.block->stream != kNoStream;
    if (!is_known || is_unobserved(last.call->seq, call.seq) || !life.raced.insert(&former).second) return;
    result_.races.push_back({former.block, life.block, last.call, &call});
  }

  /// True if the program may have ordered them by calls that are not in the trace.
  [[nodiscard]] bool is_unobserved(Sequence from, Sequence to) const {
    if (lost_.touch(from, to)) return true;
    return std::ranges::any_of(data_.launches, [&](const LaunchesSoFar& launches) {
      return !launches.observed && from < launches.seq && launches.seq < to;
    });
  }

  const TraceData& data_;
  LostStretches lost_;
  StreamOrder order_;
  std::unordered_map<BlockId, UsedLife> lives_;  // their addresses do not change
  std::vector<std::pair<Sequence, UsedLife*>> frees_;
  std::map<std::int64_t, FreedMemory> freed_;  ///< by GPU
  StreamRaces result_;
};

}  // namespace

StreamRaces stream_races(const TraceData& data) {
  if (data.streams.uses.empty()) return {};
  return RaceSearch(data).run();
}

}  // namespace dcmt::analyzer
