// Releases: for each one its verdict, and for each parameter its cycles (docs: how each verdict is reached).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/releases/holders.h"
#include "analyzer/storages/storage_bytes.h"
#include "analyzer/time/launch_coverage.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

enum class Verdict : std::uint8_t {
  kFreed,       ///< bytes gone before that thread's next activity: operator, block or launch
  kLate,        ///< gone by the end of the step
  kNever,       ///< alive at the end of the step (without steps: of the trace)
  kEarly,       ///< read before the next gather, by an operator or a kernel
  kCounted,     ///< not the final release: only the use count went down
  kPersistent,  ///< the parameter is persistent: nothing was to be freed
  kNoGather,    ///< released without a gather in this cycle: nothing to judge
  kShared,      ///< another parameter's gather still uses the storage: that one's release is the one to judge
  kRecycled,    ///< bytes kept by design: the buffer went to the next gather, or waits for it in a pool
  kUntracked,   ///< the collector did not follow the storage: nothing is known of its bytes
  kUnknown,     ///< the trace does not know the storage, or not whether it went in time
};

/// A number of operators of one thread. They are counted by the thread itself, but only some are rows of the trace, so
/// between two rows the number may be known as an interval.
struct OperatorCount {
  std::int64_t at_least = 0;
  Maybe<std::int64_t> at_most;
  std::int64_t in_trace = 0;  ///< of them, rows of the trace

  [[nodiscard]] bool exact() const { return at_most == at_least; }

  static constexpr std::string_view kShape = "operator_count";
  static void describe(auto&& field) {
    field("at_least", &OperatorCount::at_least, "operators of the thread");
    field(
        "at_most", [](const OperatorCount& count) -> std::optional<std::int64_t> { return count.at_most; },
        "equal to at_least if the number is exact; null if there is no bound");
    field("in_trace", &OperatorCount::in_trace, "of them, rows of the trace");
  }
};

/// What else was seen of a release and of its storage; of most releases nothing.
struct SeenOfRelease {
  /// After the release, before the next gather of the key and before it was overwritten; also those of kernels.
  std::vector<const Mark*> reads;
  std::optional<Holders> holders;
  /// Of kernels, from the release until the bytes went or the key was gathered again. nullopt: nothing was seen.
  std::optional<LaunchCoverage> launches;
  /// The last kernel before the release that got the storage: from its launch to the release. nullptr: not known.
  const Mark* last_touch = nullptr;
};

struct ReleaseRow {
  const Mark* mark = nullptr;
  const Mark* gather = nullptr;  ///< of the same cycle
  const Step* step = nullptr;    ///< nullptr: after the last step, or the trace has none
  Verdict verdict = Verdict::kCounted;
  /// Alive at the next activity with bytes, and not recycled; of final, non-persistent releases only.
  bool residual = false;
  /// An operator gave the storage other data after the release, which was read then.
  bool overwritten_and_read = false;
  bool lost = false;  ///< kUnknown because records were lost between the release and its storage's end
  /// The registered tensor was re-pointed, the old bytes stayed.
  bool metadata_only = false;
  /// When the bytes went: at or after the release. Absent: they are there to the end of the trace, or the storage is
  /// not in it.
  Maybe<Gone> gone;
  OperatorCount operators_held;         ///< of the releasing thread, from the release until the bytes went
  std::unique_ptr<SeenOfRelease> seen;  ///< nullptr: nothing

  [[nodiscard]] const Key& key() const { return *mark->key; }
  // Parts of `seen`, as they are where nothing was seen.
  [[nodiscard]] std::span<const Mark* const> reads() const {
    return seen ? std::span<const Mark* const>(seen->reads) : std::span<const Mark* const>();
  }
  /// nullptr: no census was taken.
  [[nodiscard]] const Holders* holders() const { return seen && seen->holders ? &*seen->holders : nullptr; }
  [[nodiscard]] std::optional<LaunchCoverage> launches() const { return seen ? seen->launches : std::nullopt; }
  [[nodiscard]] const Mark* last_touch() const { return seen ? seen->last_touch : nullptr; }

  /// Where "at the release" is: the end of the release operator.
  [[nodiscard]] Sequence at() const { return mark->span.ended() ? mark->span.to_seq : mark->span.from_seq; }
  [[nodiscard]] TimeNs at_ns() const { return mark->span.ended() ? mark->span.to_ns : mark->span.from_ns; }
  /// Of the storage, as they were read last: at the next operator, after the release or before it.
  [[nodiscard]] Bytes bytes_left() const {
    return mark->bytes_settled.value_or(mark->bytes_after.value_or(mark->bytes.value_or(Bytes(0))));
  }
};

/// Buffers of one size that go from gather to gather.
struct Pool {
  Bytes bytes_each;
  std::set<StorageId> storages;
  std::int64_t releases = 0;      ///< that gave a buffer back to it
  const Mark* example = nullptr;  ///< one of them

  [[nodiscard]] Bytes bytes() const { return Bytes(bytes_each.value * static_cast<std::int64_t>(storages.size())); }
};

/// From a gather of a key to the next one.
struct Cycle {
  std::int64_t number = 0;  ///< from 1
  const Mark* gather = nullptr;
  const Mark* next_gather = nullptr;
  std::span<const Mark* const> waits;
  std::span<const ReleaseRow* const> releases;  ///< the countdown, in order
  bool persistent = false;

  [[nodiscard]] const Key& key() const { return *gather->key; }
};

/// All releases of a trace in order, with what they point to. Movable, not copyable: parts point into each other and
/// into the TraceData.
struct Releases {
  Releases() = default;
  Releases(Releases&&) noexcept = default;
  Releases& operator=(Releases&&) noexcept = default;
  Releases(const Releases&) = delete;
  Releases& operator=(const Releases&) = delete;
  ~Releases() = default;

  std::vector<Step> steps;
  std::vector<ReleaseRow> rows;
  std::vector<Cycle> cycles;                   ///< by key, then number
  std::vector<const Mark*> waits;              ///< of the cycles
  std::vector<const ReleaseRow*> rows_by_key;  ///< of the cycles, and those before the first
  std::vector<Pool> pools;

  [[nodiscard]] std::vector<const ReleaseRow*> residual() const;
};

[[nodiscard]] Releases analyze_releases(const TraceData& data);

[[nodiscard]] std::string_view name_of(Verdict verdict);

}  // namespace dcmt::analyzer
