#include "collector/recorder/console/oom_lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "trace/base/printable.h"
#include "trace/base/quantities.h"
#include "trace/base/shell_words.h"

namespace dcmt::recorder {
namespace {

constexpr std::size_t kMostLines = 10;

std::string head(const OomFacts& facts, const std::string& who) {
  if (facts.number == 0) {
    return fmt::format("killed{}: {} were alive then in torch's blocks", who, rounded_bytes(facts.alive));
  }
  std::string text =
      fmt::format("out of memory on {}{}: {} asked for", facts.device, who, rounded_bytes(facts.figures.requested));
  if (!facts.operator_name.empty()) text += " by " + facts.operator_name;
  if (!facts.site.empty()) text += " at " + facts.site;
  return text;
}

std::string figures(const OomFacts& facts) {
  const OomFigures& figures = facts.figures;
  std::vector<std::string> parts;
  if (figures.allocated) parts.push_back("allocated " + rounded_bytes(*figures.allocated));
  if (figures.reserved) parts.push_back("reserved " + rounded_bytes(*figures.reserved));
  if (figures.free && facts.total) {
    parts.push_back(
        fmt::format("free {} of the device's {}", rounded_bytes(*figures.free), rounded_bytes(*facts.total)));
  }
  if (parts.empty()) return fmt::format("allocated {} by torch's tensors", rounded_bytes(facts.alive));
  std::string text = fmt::format("{} (by torch and CUDA)", fmt::join(parts, ", "));
  return figures.is_limited() ? text + "; a limit of the process keeps it from the rest" : text;
}

std::string fragmentation(const OomFigures& figures) {
  return fmt::format("fragmented: {} of the reserved bytes are free but scattered", rounded_bytes(figures.unused()));
}

std::string group_line(const OomGroup& group) {
  if (group.blocks == 0) return fmt::format("{:>10} in blocks {}", rounded_bytes(group.bytes), group.site);
  std::string text = fmt::format("{:>10} in {} block{} from {}", rounded_bytes(group.bytes), group.blocks,
                                 group.blocks == 1 ? "" : "s", group.site);
  if (group.holder.empty()) return text;
  const bool all = group.held >= group.bytes;
  return text + fmt::format(", {}held by {}", all ? "" : rounded_bytes(group.held) + " of it ", group.holder);
}

std::string held_line(const OomFacts& facts) {
  std::string text = fmt::format("{} of it is released and still held, by {} storage{}", rounded_bytes(facts.held),
                                 facts.held_storages, facts.held_storages == 1 ? "" : "s");
  const std::int64_t missing = facts.figures.missing();
  if (facts.held >= missing) return text + ": with it gone, the request fits";
  return text + fmt::format("; {} more would have to go for the request to fit", rounded_bytes(missing - facts.held));
}

std::string holder_line(const OomHolder& holder) {
  if (holder.function.empty())
    return fmt::format("{:>10} by holders that no census has named", rounded_bytes(holder.bytes));
  std::string text =
      fmt::format("{:>10} by {}: {}", rounded_bytes(holder.bytes), holder.function, fmt::join(holder.names, ", "));
  if (!holder.place.empty()) text += "   " + holder.place;
  if (!holder.assignment.empty()) text += "   " + holder.assignment;
  return text;
}

std::string fix_line(const OomHolder& holder) {
  if (holder.function.empty() || holder.kept_by_generated_code) {
    return "fix  resize the storage to 0 at the final release";
  }
  return "fix  drop the variable before the release, or resize the storage to 0 at the final release";
}

}  // namespace

std::string oom_lines(const OomFacts& facts, const std::string& who, const std::string& folder) {
  std::vector<std::string> lines{head(facts, who)};
  if (facts.number != 0) lines.push_back(figures(facts));
  if (facts.figures.is_fragmented()) lines.push_back(fragmentation(facts.figures));
  for (std::size_t i = 0; i < std::min(kMostGroups, facts.groups.size()); ++i) {
    lines.push_back(group_line(facts.groups[i]));
  }
  if (facts.held > 0) {
    lines.push_back(held_line(facts));
    // Two lines follow.
    for (const OomHolder& holder : facts.holders) {
      if (lines.size() + 2 < kMostLines) lines.push_back(holder_line(holder));
    }
    lines.push_back(fix_line(facts.holders.front()));
  } else if (facts.has_releases) {
    lines.emplace_back("nothing of it was released and is still held, as far as is known");
  }
  const std::string at = facts.number > 1 ? fmt::format("#{}", facts.number) : "";
  lines.push_back(
      fmt::format("next dc-memtrace show live {} --at {}", shell_word(folder), facts.number == 0 ? "end" : "oom" + at));
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) text += (i == 0 ? "dc-memtrace: " : "  ") + printable(lines[i]) + "\n";
  return text;
}

}  // namespace dcmt::recorder
