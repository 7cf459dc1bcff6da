#include "collector/recorder/target/forked_children.h"

#include <algorithm>
#include <utility>

#include "collector/recorder/target/process_table.h"

namespace dcmt::recorder {

std::vector<ForkedChild> forked_children(pid_t of) {
  std::vector<ProcessEntry> processes = all_processes();
  const auto own = std::ranges::find(processes, of, &ProcessEntry::pid);
  if (own == processes.end() || own->stack == 0) return {};
  // Without randomization, another run of the same program has this stack, too: so ancestors count.
  const std::uint64_t stack = own->stack;
  std::erase_if(processes, [stack](const ProcessEntry& each) { return each.stack != stack; });
  const std::set<pid_t> below = with_descendants({of}, processes);
  std::vector<ForkedChild> children;
  for (ProcessEntry& each : processes) {
    const bool is_child = each.pid != of && below.contains(each.pid) && !each.leaves;
    if (is_child) children.push_back({each.pid, each.start, std::move(each.name)});
  }
  return children;
}

}  // namespace dcmt::recorder
