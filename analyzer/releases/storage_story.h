// The life of one storage: when it was released, when its last reference went, which came first, and who did it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/releases/releases.h"
#include "analyzer/storages/storage_bytes.h"

namespace dcmt::analyzer {

/// What took the bytes away first.
enum class EndedBy {
  kRelease,        ///< an explicit release, while references were left
  kLastReference,  ///< the last reference, with or after a release
  kOther,          ///< a resize or a free outside of a release
  kAlive,          ///< nothing: the bytes are there to the end of the trace
};

struct StorageStory {
  const Storage* storage = nullptr;
  std::vector<const Block*> blocks;
  std::vector<const Tensor*> tensors;
  std::vector<const Mark*> marks;             ///< that name the storage, in order
  std::span<const Resize> resizes;            ///< in order
  std::vector<const ReleaseRow*> releases;    ///< of it, in order
  std::vector<Holders> censuses;              ///< of it, in order
  const ReleaseRow* final_release = nullptr;  ///< the last final one
  Maybe<Gone> gone;                           ///< when its bytes went for good
  EndedBy ended_by = EndedBy::kAlive;
};

/// nullopt if the trace has no such storage.
[[nodiscard]] std::optional<StorageStory> storage_story(const TraceData& data, const Releases& releases, StorageId id);

[[nodiscard]] std::string_view name_of(EndedBy ended_by);

}  // namespace dcmt::analyzer
