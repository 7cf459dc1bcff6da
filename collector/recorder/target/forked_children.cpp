#include "collector/recorder/target/forked_children.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "collector/recorder/target/process_table.h"
#include "trace/base/lines.h"
#include "trace/base/read_file.h"

namespace dcmt::recorder {

std::vector<ForkedChild> forked_children(pid_t of) {
  std::vector<ProcessEntry> processes = all_processes();
  const auto own = std::ranges::find(processes, of, &ProcessEntry::pid);
  if (own == processes.end() || own->stack == 0) return {};
  // Without randomization, another run of the same program has this stack, too: so ancestors count.
  std::map<pid_t, bool> is_below{{of, true}};
  const std::uint64_t stack = own->stack;
  std::vector<ForkedChild> children;
  for (bool grown = true; std::exchange(grown, false);) {
    for (ProcessEntry& each : processes) {
      if (each.stack != stack || !is_below.contains(each.parent) || !is_below.emplace(each.pid, true).second) continue;
      grown = true;
      if (!each.leaves) children.push_back({each.pid, each.start, std::move(each.name)});
    }
  }
  return children;
}

std::optional<ChildMemory> parse_rollup(std::string_view rollup) {
  std::optional<ChildMemory> memory;
  while (!rollup.empty()) {
    const std::string_view line = next_line(rollup);
    const std::size_t colon = line.find(':');
    const std::size_t digits = line.find_first_of("0123456789", std::min(colon, line.size()));
    if (colon == std::string_view::npos || digits == std::string_view::npos) continue;
    std::int64_t kib = 0;
    std::from_chars(line.data() + digits, line.data() + line.size(), kib);
    const std::string_view name = line.substr(0, colon);
    if (name == "Rss") memory.emplace().resident = kib * 1024;
    if (memory && (name == "Private_Dirty" || name == "SwapPss")) memory->unshared += kib * 1024;
  }
  return memory;
}

std::optional<ChildMemory> child_memory(pid_t pid) {
  const std::optional<std::string> rollup = read_file(fmt::format("/proc/{}/smaps_rollup", pid));
  return rollup ? parse_rollup(*rollup) : std::nullopt;
}

}  // namespace dcmt::recorder
