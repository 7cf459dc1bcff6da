// What happened in a stretch of a run, as a plan that the reference executor can replay: gathers, waits, reads and
// releases in their order, how long names kept each gathered storage, and how much else was allocated meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/replay/replay_facts.h"
#include "analyzer/replay/replay_region.h"
#include "trace/base/status.h"

namespace dcmt::analyzer {

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
  Bytes rounding;  ///< so many of them are the allocator's: the storage has the others
  StringId dtype;  ///< of its elements, where known
  std::int32_t stream = kNoStream;
  bool persistent = false;
  /// The first of the buffers that lie in one storage, also for that one itself.
  std::optional<std::size_t> shares;
  std::vector<ReplayHolder> holders;  ///< as a census found them
  bool unnamed = false;               ///< it did not find them all
};

enum class ReplayDo {
  kLevel,     ///< everything but the buffers takes `bytes` now
  kMake,      ///< the storage of `buffer`, of a pool, before anything is gathered into it
  kGather,    ///< of `buffer`; with `again` it is there already
  kWait,      ///< for it
  kRead,      ///< an operator takes it as an input after its release; `bytes` are there
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
  bool inside_release = false;      ///< of a drop: it is the release that lets go of the last name
  bool clears_tensor_only = false;  ///< of a release: the storage is left to whoever else refers to it
  std::int64_t step = 0;
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

/// kBadInput where only sums of the region are in the trace, or nothing was gathered in it.
[[nodiscard]] Expected<ReplayPlan> plan_of(const Analysis& analysis, const ReplayRegion& region);

[[nodiscard]] std::string_view name_of(ReplayDo what);

}  // namespace dcmt::analyzer
