// The life of one storage: its releases, its last reference, the order of these events, and who caused them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/releases/releases.h"
#include "analyzer/storages/storage_bytes.h"

namespace dcmt::analyzer {

/// What freed the bytes first.
enum class EndedBy {
  kRelease,        ///< its final release, while that ran
  kLastReference,  ///< the last reference: it ended before the bytes did, or with them
  kOther,          ///< a resize or a free outside of the final release, while references were left
  kAlive,          ///< nothing: the bytes exist to the end of the trace
};

struct StorageStory {
  const Storage* storage = nullptr;
  std::vector<const Block*> blocks;
  std::vector<const Tensor*> tensors;
  std::vector<const Mark*> marks;             ///< marks with this storage, in order
  std::span<const Resize> resizes;            ///< in order
  std::vector<const ReleaseRow*> releases;    ///< of this storage, in order
  std::vector<Holders> censuses;              ///< of this storage, in order
  const ReleaseRow* final_release = nullptr;  ///< the last final one
  Maybe<Gone> gone;                           ///< when its bytes were freed for the last time
  EndedBy ended_by = EndedBy::kAlive;
};

/// nullopt if the trace has no such storage.
[[nodiscard]] std::optional<StorageStory> storage_story(const TraceData& data, const Releases& releases, StorageId id);

[[nodiscard]] std::string_view name_of(EndedBy ended_by);

}  // namespace dcmt::analyzer
