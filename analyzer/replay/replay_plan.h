// A stretch of a run as a plan that the reference executor can replay: gathers, waits, reads and releases in order, how
// long names kept each gathered storage, and how much else was allocated in between.
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

/// A variable that referred to the storage at a census.
struct ReplayHolder {
  HolderKind kind = HolderKind::kLocal;
  std::string name, function;
};

/// One gathered storage: from its gather until its bytes were freed.
struct ReplayBuffer {
  Key key;
  std::int64_t id = 0;  ///< the parameter's number in the replay: the key's, unless it is used by another graph or size
  StorageId storage;
  Bytes bytes;
  Bytes rounding;  ///< part of `bytes` that the allocator added by rounding up
  StringId dtype;  ///< of the elements, if known
  std::int32_t stream = kNoStream;
  bool persistent = false;
  /// The first of the buffers that share one storage; set for that buffer, too.
  std::optional<std::size_t> shares;
  std::vector<ReplayHolder> holders;  ///< as a census found them
  bool unnamed = false;               ///< the census did not find all of them
};

enum class ReplayDo {
  kLevel,     ///< all memory except the buffers is `bytes` from here on
  kMake,      ///< makes the storage of `buffer`, which is of a pool, before a gather uses it
  kGather,    ///< gathers `buffer`; with `again` its storage exists already
  kWait,      ///< waits for `buffer`
  kRead,      ///< an operator reads `buffer` after its release; `bytes` exist
  kRelease,   ///< releases one of `users` uses
  kEmpty,     ///< the storage's bytes are freed without a release
  kDrop,      ///< the last name is removed
  kForget,    ///< the gathering code forgets the buffer without a release
  kOperator,  ///< the thread begins an operator that uses no buffer
  kMemory,    ///< requests `bytes` that are not available
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
  bool inside_release = false;      ///< for kDrop: the release itself removes the last name
  bool clears_tensor_only = false;  ///< for kRelease: the storage is left to its other references
  std::int64_t step = 0;
};

struct ReplayPlan {
  ReplayRegion region;
  StringId device;
  bool cut_off = false;  ///< a signal ended the program: nothing was freed afterwards
  Bytes begin;           ///< allocated bytes at the begin of the region
  std::vector<ReplayBuffer> buffers;
  std::size_t prologue = 0;  ///< number of events that produce the initial state of the region
  std::vector<ReplayEvent> events;
  ReplayFacts facts;
  std::vector<std::string> notes;  ///< what the plan leaves out of the region

  /// Threads with events, the one with most events first.
  [[nodiscard]] std::vector<ThreadId> threads() const;
};

[[nodiscard]] std::string_view name_of(ReplayDo what);

}  // namespace dcmt::analyzer
