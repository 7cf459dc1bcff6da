// The story of a plan: the events of its gathered storages, and nothing else.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/replay/replay_plan.h"

namespace dcmt::analyzer {

struct StoryStorage {
  Key key;
  std::int64_t cycle = 0;  ///< number of the key's cycle within the story, from 1
  Bytes bytes;
  std::int64_t uses = 1;  ///< declared by its first release
};

/// An event of a storage, with the number of consecutive repetitions.
struct StoryRun {
  enum class What {
    kGather,
    kRelease,         ///< clears the tensor only
    kReleaseAndFree,  ///< frees the bytes
    kRead,            ///< a read after a release
    kEmpty,           ///< the bytes are freed without a release
    kDrop,            ///< the last name is removed
  };

  std::size_t storage = 0;  ///< index in the story
  What what = What::kGather;
  std::int64_t times = 1;
};

struct ReplayStory {
  std::vector<StoryStorage> storages;
  std::vector<StoryRun> runs;  ///< omits the end of a released storage that nothing reads afterwards
};

/// The story of these buffers of the plan.
[[nodiscard]] ReplayStory story_of(const ReplayPlan& plan, const std::vector<std::size_t>& buffers);

/// All buffers of the plan, those of the finding first. With nullptr they are in the order of the plan.
[[nodiscard]] std::vector<std::size_t> buffers_for(const ReplayPlan& plan, const Finding* finding);

}  // namespace dcmt::analyzer
