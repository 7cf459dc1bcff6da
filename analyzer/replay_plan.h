// What happened in a stretch of a run, as a plan that the reference executor can replay: gathers, waits, reads and
// releases in their order, how long names kept each gathered storage, and how much else was allocated meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/analysis.h"
#include "trace/base/status.h"

namespace dcmt::analyzer {

/// Whole steps, or all of a trace that has none.
struct ReplayRegion {
  Sequence from, to;        ///< [from, to)
  std::vector<Step> steps;  ///< those that end in it, in order
  friend bool operator==(const ReplayRegion& a, const ReplayRegion& b) { return a.from == b.from && a.to == b.to; }
};

/// A variable that named the storage when somebody looked.
struct ReplayHolder {
  HolderKind kind = HolderKind::kLocal;
  std::string name, function;
};

/// One gathered storage: from the gather that made it until its bytes went.
struct ReplayBuffer {
  Key key;
  std::int64_t id = 0;  ///< the parameter in the replay: the key's, unless another graph or size has it
  StorageId storage;
  Bytes bytes;
  std::int32_t stream = kNoStream;
  bool persistent = false;
  /// The first of the buffers that lie in one storage, also for that one itself.
  std::optional<std::size_t> shares;
  std::vector<ReplayHolder> holders;  ///< as a census found them
  bool unnamed = false;               ///< it did not find them all
};

enum class ReplayDo {
  kLevel,     ///< everything but the buffers takes `bytes` now
  kGather,    ///< of `buffer`; with `again` it is there already
  kWait,      ///<
  kRead,      ///< an operator takes it as an input after its release
  kRelease,   ///< one of `users` uses
  kEmpty,     ///< its storage gives its bytes back without a release
  kDrop,      ///< the last of its names goes
  kForget,    ///< whoever gathered it knows it no more, without a release
  kOperator,  ///< the thread begins an operator that has nothing to do with any buffer
  kMemory,    ///< `bytes` are asked for that nobody has
  kStep,      ///< step `step` ends
};

struct ReplayEvent {
  ReplayDo what = ReplayDo::kLevel;
  Sequence at;  ///< in the trace
  ThreadId thread = kNoThread;
  std::size_t buffer = 0;
  Bytes bytes;
  std::int64_t users = 1;
  bool again = false;
  bool clears_tensor_only = false;  ///< of a release: the storage is left to whoever else refers to it
  std::int64_t step = 0;
};

/// What is compared of a release.
struct ReleaseFacts {
  Key key;
  StorageId storage;
  Verdict verdict = Verdict::kCounted;
  bool residual = false;
  std::optional<Bytes> bytes_before, bytes_after, bytes_settled;
  Bytes allocated;  ///< on the device, at the end of the release
  std::int64_t reads = 0;
  /// Of the names a census found, without doubles: "local" for what a frame holds itself, "cell" for what functions
  /// share; "unnamed" if references are unexplained. Empty: nobody looked.
  std::vector<std::string> holder_kinds;
};

/// What is compared of a finding: its items in the region.
struct FindingFacts {
  std::int64_t number = 0;
  std::string rule;
  std::vector<std::pair<Key, Bytes>> items;  ///< sorted
};

/// All that is compared of a stretch of a run.
struct ReplayFacts {
  std::vector<ReleaseFacts> releases;  ///< in order
  std::vector<FindingFacts> findings;
  Bytes peak;
  std::optional<Bytes> predicted_peak;  ///< had every residual storage been freed at its release
};

struct ReplayPlan {
  ReplayRegion region;
  StringId device;
  bool cut_off = false;  ///< the program was ended by a signal: nothing was given back
  Bytes begin;           ///< allocated when the region begins
  std::vector<ReplayBuffer> buffers;
  std::size_t prologue = 0;  ///< so many events bring about the state in which the region begins
  std::vector<ReplayEvent> events;
  ReplayFacts facts;
  std::vector<std::string> notes;  ///< what of the region is not in the plan

  /// Threads with events, the one with most of them first.
  [[nodiscard]] std::vector<ThreadId> threads() const;
};

/// The step in which most of a finding lies, with the later one that the reads after its releases reach. kNotComparable
/// for a finding that is of no parameter.
[[nodiscard]] Expected<ReplayRegion> region_of(const Analysis& analysis, const Finding& finding);
/// kUsage if there is no such step.
[[nodiscard]] Expected<ReplayRegion> region_of_step(const Analysis& analysis, std::int64_t step);
/// The step of the peak.
[[nodiscard]] ReplayRegion region_of_peak(const Analysis& analysis);

/// kBadInput where only sums of the region are in the trace, or nothing was gathered in it.
[[nodiscard]] Expected<ReplayPlan> plan_of(const Analysis& analysis, const ReplayRegion& region);

/// What happened in [from, to), less `overhead` allocated bytes.
[[nodiscard]] ReplayFacts facts_in(const Analysis& analysis, StringId device, Sequence from, Sequence to,
                                   Bytes overhead);

[[nodiscard]] std::string_view name_of(ReplayDo what);

}  // namespace dcmt::analyzer
