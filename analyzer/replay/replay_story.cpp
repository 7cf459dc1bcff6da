#include "analyzer/replay/replay_story.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace dcmt::analyzer {
namespace {

using What = StoryRun::What;

/// nullopt if the story omits the event.
std::optional<What> what_of(const ReplayEvent& event, const ReplayBuffer& buffer) {
  switch (event.what) {
    case ReplayDo::kGather:
      return event.again ? std::nullopt : std::optional(What::kGather);
    case ReplayDo::kRelease:
      if (buffer.persistent) return std::nullopt;
      return event.clears_tensor_only ? What::kRelease : What::kReleaseAndFree;
    case ReplayDo::kRead:
      return What::kRead;
    case ReplayDo::kEmpty:
      return What::kEmpty;
    case ReplayDo::kDrop:
      return What::kDrop;
    default:
      return std::nullopt;
  }
}

struct Uses {
  std::int64_t declared = 1, releases = 0;  ///< the number declared by the first release counts
};

/// Omits the end of a storage that was released and is not read any more.
std::vector<StoryRun> without_ends(const std::vector<StoryRun>& runs, const std::vector<Uses>& uses) {
  std::set<std::size_t> goes_on;
  std::vector<StoryRun> kept;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    const Uses& of_storage = uses[run->storage];
    const bool end = run->what == What::kDrop || run->what == What::kEmpty;
    const bool released = of_storage.releases >= of_storage.declared;
    if (end && released && !goes_on.contains(run->storage)) continue;
    goes_on.insert(run->storage);
    kept.push_back(*run);
  }
  std::ranges::reverse(kept);
  return kept;
}

}  // namespace

ReplayStory story_of(const ReplayPlan& plan, const std::vector<std::size_t>& buffers) {
  std::map<std::size_t, std::size_t> numbers;  // of buffers, in the story
  for (const std::size_t buffer : buffers) numbers.emplace(buffer, numbers.size());
  std::vector<Uses> uses(buffers.size());
  std::vector<StoryRun> runs;
  for (const ReplayEvent& event : plan.events) {
    const auto number = numbers.find(event.buffer);
    if (number == numbers.end()) continue;
    const std::optional<What> what = what_of(event, plan.buffers[event.buffer]);
    if (!what) continue;
    Uses& of_storage = uses[number->second];
    if (event.what == ReplayDo::kRelease && of_storage.releases++ == 0) of_storage.declared = event.users;
    const bool again = !runs.empty() && runs.back().storage == number->second && runs.back().what == *what;
    if (again) {
      ++runs.back().times;
    } else {
      runs.push_back({number->second, *what, 1});
    }
  }
  ReplayStory story;
  story.runs = without_ends(runs, uses);
  std::map<Key, std::int64_t> cycles;
  for (const std::size_t number : buffers) {
    const ReplayBuffer& buffer = plan.buffers[number];
    story.storages.push_back({buffer.key, ++cycles[buffer.key], buffer.bytes, uses[numbers[number]].declared});
  }
  return story;
}

std::vector<std::size_t> buffers_for(const ReplayPlan& plan, const Finding* finding) {
  std::vector<std::size_t> buffers(plan.buffers.size());
  std::iota(buffers.begin(), buffers.end(), std::size_t{0});
  if (finding == nullptr) return buffers;
  std::set<StorageId> storages;
  for (const FindingItem& item : finding->items) storages.insert(item.storage);
  std::ranges::stable_partition(buffers,
                                [&](std::size_t number) { return storages.contains(plan.buffers[number].storage); });
  return buffers;
}

}  // namespace dcmt::analyzer
