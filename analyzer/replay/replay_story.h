// The story of a plan: what happened to its gathered storages, and nothing else.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/replay/replay_plan.h"

namespace dcmt::analyzer {

struct StoryStorage {
  Key key;
  std::int64_t cycle = 0;  ///< of the key in the story, from 1
  Bytes bytes;
  std::int64_t uses = 1;  ///< that its first release declares
};

/// An event of a storage, as often as it comes in a row.
struct StoryRun {
  enum class What {
    kGather,
    kRelease,         ///< that clears the tensor only
    kReleaseAndFree,  ///< that gives the bytes back
    kRead,            ///< after a release
    kEmpty,           ///< the bytes go without a release
    kDrop,            ///< the last name goes
  };

  std::size_t storage = 0;  ///< index in the story
  What what = What::kGather;
  std::int64_t times = 1;
};

struct ReplayStory {
  std::vector<StoryStorage> storages;
  std::vector<StoryRun> runs;  ///< without ends of storages that were released and that nothing reads any more
};

/// Of these buffers of the plan.
[[nodiscard]] ReplayStory story_of(const ReplayPlan& plan, const std::vector<std::size_t>& buffers);

/// All buffers of the plan, those of the finding first; nullptr: in the order of the plan.
[[nodiscard]] std::vector<std::size_t> buffers_for(const ReplayPlan& plan, const Finding* finding);

}  // namespace dcmt::analyzer
