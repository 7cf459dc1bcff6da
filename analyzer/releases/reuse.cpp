#include "analyzer/releases/reuse.h"

#include <algorithm>
#include <tuple>

namespace dcmt::analyzer {
namespace {

/// The common properties of a pool's buffers: gathered by one operator for one graph, and of one size.
struct PoolKey {
  std::int64_t graph = 0;
  StringId gather;
  Bytes bytes;
  friend auto operator<=>(const PoolKey&, const PoolKey&) = default;  // NOLINT(modernize-use-nullptr)
};

PoolKey pool_of(const Mark& gather) { return {gather.key->graph, gather.name, gather.bytes.value_or(Bytes())}; }

/// All gathers of a trace, by storage.
class Gathers {
 public:
  explicit Gathers(const TraceData& data) {
    for (const Mark& mark : data.marks) {
      if (!mark.gives_storage() || !mark.storage.valid() || !mark.key) continue;
      of_storage_[mark.storage].push_back(&mark);
      const Storage* storage = data.storages.find(mark.storage);
      if (mark.kind != MarkKind::kGather || storage == nullptr) continue;
      Sequence& latest = latest_birth_[pool_of(mark)];
      latest = std::max(latest, storage->span.from_seq);
    }
    for (auto& [storage, marks] : of_storage_) {
      std::sort(marks.begin(), marks.end(),
                [](const Mark* a, const Mark* b) { return a->span.from_seq < b->span.from_seq; });
    }
  }

  /// The first gather into the storage after `at`; nullptr if there is none.
  [[nodiscard]] const Mark* after(StorageId storage, Sequence at) const {
    const auto marks = of_storage_.find(storage);
    if (marks == of_storage_.end()) return nullptr;
    const auto next = std::upper_bound(marks->second.begin(), marks->second.end(), at,
                                       [](Sequence s, const Mark* mark) { return s < mark->span.from_seq; });
    return next == marks->second.end() ? nullptr : *next;
  }

  /// True if a storage was made after `at` and gathered into, although a buffer of this pool could have been used.
  [[nodiscard]] bool made_after(const PoolKey& pool, Sequence at) const {
    const auto latest = latest_birth_.find(pool);
    return latest != latest_birth_.end() && latest->second > at;
  }

 private:
  std::map<StorageId, std::vector<const Mark*>> of_storage_;
  std::map<PoolKey, Sequence> latest_birth_;
};

bool before_it_went(const ReleaseRow& row, const Mark* mark) {
  return mark != nullptr && (!row.gone || mark->span.from_seq < row.gone->seq());
}

void recycle(ReleaseRow& row, Pool& pool) {
  row.verdict = Verdict::kRecycled;
  row.residual = false;
  pool.storages.insert(row.mark->storage);
  ++pool.releases;
}

}  // namespace

void judge_reuse(const TraceData& data, Releases& releases) {
  const auto may_be_reused = [](const ReleaseRow& row) { return row.residual && row.reads().empty(); };
  if (std::none_of(releases.rows.begin(), releases.rows.end(), may_be_reused)) return;
  const Gathers gathers(data);
  std::map<PoolKey, Pool> pools;
  const auto pool = [&](const ReleaseRow& row) -> Pool& {
    const PoolKey key = row.gather != nullptr ? pool_of(*row.gather) : PoolKey{row.key().graph, {}, row.bytes_left()};
    Pool& found = pools[key];
    found.bytes_each = key.bytes;
    found.example = row.mark;
    return found;
  };
  for (ReleaseRow& row : releases.rows) {
    if (!may_be_reused(row)) continue;
    const Mark* again = gathers.after(row.mark->storage, row.at());
    if (before_it_went(row, again) || row.overwritten_and_read) recycle(row, pool(row));
  }
  for (ReleaseRow& row : releases.rows) {
    if (!may_be_reused(row) || row.gather == nullptr) continue;
    const PoolKey key = pool_of(*row.gather);
    const auto found = pools.find(key);
    if (found != pools.end() && !gathers.made_after(key, row.at())) recycle(row, found->second);
  }
  for (const auto& [key, one] : pools) releases.pools.push_back(one);
}

}  // namespace dcmt::analyzer
