// Releases: a verdict for each, and the cycles of each parameter (docs: how each verdict is reached).
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
  kFreed,       ///< bytes freed before that thread's next activity: an operator, a block or a launch
  kLate,        ///< bytes freed by the end of the step; or soon after it, by a thread that takes no part in it
  kNever,       ///< bytes alive at the end of the step (without steps: of the trace)
  kEarly,       ///< read before the next gather, by an operator or a kernel
  kCounted,     ///< not the final release: it only decreased the use count
  kPersistent,  ///< the parameter is persistent: nothing had to be freed
  kNoGather,    ///< released without a gather in this cycle: nothing to judge
  kShared,      ///< another parameter's gather still uses the storage; that parameter's release is judged instead
  kRecycled,    ///< kept by design: the next gather uses the buffer, or it waits for that in a pool
  kUntracked,   ///< the collector did not track the storage: nothing is known of its bytes
  kUnknown,     ///< the storage is not in the trace, or lost records may contain its end
};

/// A number of operators of one thread. The thread counts all of them, but only some have rows in the trace, so the
/// number between two rows may be known only as an interval.
struct OperatorCount {
  std::int64_t at_least = 0;
  Maybe<std::int64_t> at_most;
  std::int64_t in_trace = 0;  ///< operators of these that have rows in the trace

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

/// Further observations about a release and its storage. Most releases have none.
struct SeenOfRelease {
  /// Reads by operators and kernels: after the release, before the next gather of the key and before an overwrite.
  std::vector<const Mark*> reads;
  std::optional<Holders> holders;
  /// Launches from the release until the bytes were freed or the key was gathered again. nullopt: nothing observed.
  std::optional<LaunchCoverage> launches;
  /// The last kernel before the release that received the storage, from its launch to the release. nullptr: unknown.
  const Mark* last_touch = nullptr;
};

struct ReleaseRow {
  const Mark* mark = nullptr;
  const Mark* gather = nullptr;  ///< the gather of the same cycle
  const Step* step = nullptr;    ///< nullptr: after the last step, or the trace has none
  Verdict verdict = Verdict::kCounted;
  /// Bytes were alive at the next activity, and not recycled. Only for final releases of parameters that are not
  /// persistent.
  bool residual = false;
  /// An operator wrote other data to the storage after the release, and this data was read.
  bool overwritten_and_read = false;
  bool lost = false;  ///< kUnknown because records between the release and the storage's end were lost
  /// The registered tensor was re-pointed, but the old bytes stayed.
  bool metadata_only = false;
  /// When the bytes were freed: at the release or after it. Absent: they exist to the end of the trace, or the storage
  /// is not in it.
  Maybe<Gone> gone;
  /// Of a late release: the thread that still held the storage and takes no part in the training (late.h).
  ThreadId let_go_by = kNoThread;
  OperatorCount operators_held;         ///< of the releasing thread, from the release until the bytes were freed
  std::unique_ptr<SeenOfRelease> seen;  ///< nullptr: no observations

  [[nodiscard]] const Key& key() const { return *mark->key; }
  // Parts of `seen`, with their defaults if it is nullptr.
  [[nodiscard]] std::span<const Mark* const> reads() const {
    return seen ? std::span<const Mark* const>(seen->reads) : std::span<const Mark* const>();
  }
  /// nullptr: no census was made.
  [[nodiscard]] const Holders* holders() const { return seen && seen->holders ? &*seen->holders : nullptr; }
  [[nodiscard]] std::optional<LaunchCoverage> launches() const { return seen ? seen->launches : std::nullopt; }
  [[nodiscard]] const Mark* last_touch() const { return seen ? seen->last_touch : nullptr; }

  /// The sequence that counts as the release: the end of the release operator.
  [[nodiscard]] Sequence at() const { return mark->span.ended() ? mark->span.to_seq : mark->span.from_seq; }
  [[nodiscard]] TimeNs at_ns() const { return mark->span.ended() ? mark->span.to_ns : mark->span.from_ns; }
  /// The storage's bytes at their latest reading: at the next operator, after the release, or before it.
  [[nodiscard]] Bytes bytes_left() const {
    return mark->bytes_settled.value_or(mark->bytes_after.value_or(mark->bytes.value_or(Bytes(0))));
  }
};

/// Buffers of one size that are reused by later gathers.
struct Pool {
  Bytes bytes_each;
  std::set<StorageId> storages;
  std::int64_t releases = 0;      ///< releases that returned a buffer to the pool
  const Mark* example = nullptr;  ///< one of these releases

  [[nodiscard]] Bytes bytes() const { return Bytes(bytes_each.value * static_cast<std::int64_t>(storages.size())); }
};

/// From one gather of a key to the next.
struct Cycle {
  std::int64_t number = 0;  ///< from 1
  const Mark* gather = nullptr;
  const Mark* next_gather = nullptr;
  std::span<const Mark* const> waits;
  std::span<const ReleaseRow* const> releases;  ///< all releases of the cycle, in order; they count the uses down
  bool persistent = false;

  [[nodiscard]] const Key& key() const { return *gather->key; }
};

/// All releases of a trace in order, with the rows that they refer to. Movable, not copyable: parts point to each other
/// and into the TraceData.
struct Releases {
  Releases() = default;
  Releases(Releases&&) noexcept = default;
  Releases& operator=(Releases&&) noexcept = default;
  Releases(const Releases&) = delete;
  Releases& operator=(const Releases&) = delete;
  ~Releases() = default;

  std::vector<Step> steps;
  std::vector<ReleaseRow> rows;
  std::vector<Cycle> cycles;                   ///< by key, then by number
  std::vector<const Mark*> waits;              ///< storage of the cycles' `waits`
  std::vector<const ReleaseRow*> rows_by_key;  ///< storage of the cycles' `releases`, and earlier ones
  std::vector<Pool> pools;

  [[nodiscard]] std::vector<const ReleaseRow*> residual() const;
};

[[nodiscard]] std::string_view name_of(Verdict verdict);

}  // namespace dcmt::analyzer
