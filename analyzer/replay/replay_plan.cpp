#include "analyzer/replay/replay_plan.h"

#include <algorithm>
#include <map>

namespace dcmt::analyzer {

std::vector<ThreadId> ReplayPlan::threads() const {
  std::map<ThreadId, std::size_t> counts;
  for (const ReplayEvent& event : events) {
    if (event.thread != kNoThread) ++counts[event.thread];
  }
  std::vector<ThreadId> found;
  for (const auto& [thread, count] : counts) found.push_back(thread);
  std::stable_sort(found.begin(), found.end(), [&](ThreadId a, ThreadId b) { return counts[a] > counts[b]; });
  return found;
}

std::string_view name_of(ReplayDo what) {
  switch (what) {
    case ReplayDo::kLevel:
      return "level";
    case ReplayDo::kMake:
      return "make";
    case ReplayDo::kGather:
      return "gather";
    case ReplayDo::kWait:
      return "wait";
    case ReplayDo::kRead:
      return "read";
    case ReplayDo::kRelease:
      return "release";
    case ReplayDo::kEmpty:
      return "empty";
    case ReplayDo::kDrop:
      return "drop";
    case ReplayDo::kForget:
      return "forget";
    case ReplayDo::kOperator:
      return "operator";
    case ReplayDo::kMemory:
      return "memory";
    case ReplayDo::kStep:
      return "step";
  }
  return "";
}

}  // namespace dcmt::analyzer
