#include "collector/recorder/target/cgroup_memory.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>

#include "trace/base/lines.h"
#include "trace/base/read_file.h"

namespace dcmt::recorder {
namespace {

/// In version 1, a kernel without a limit reports a multiple of the page size near the largest number.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;

std::optional<std::int64_t> number_at(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc{} ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> number_in(const std::string& path) { return number_at(read_file(path).value_or("")); }

/// The number after "key " at the begin of a line.
std::optional<std::int64_t> number_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ') {
      return number_at(line.substr(key.size() + 1));
    }
  }
  return {};
}

struct Group {
  std::string mount, path;
  bool is_v2 = false;
};

/// From lines of /proc/PID/cgroup, such as "0::/a/b" or "4:memory:/a/b".
std::optional<Group> group_of(std::string_view lines, const std::string& root) {
  std::optional<Group> unified;
  while (!lines.empty()) {
    const std::string_view line = next_line(lines);
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const std::string path(line.substr(second + 1));
    if (controllers.find(",memory,") != std::string::npos) return Group{root + "/memory", path, false};
    if (line.starts_with("0::")) unified = Group{root, path, true};
  }
  return unified;
}

}  // namespace

CgroupMemory CgroupMemory::of(pid_t pid, const std::string& root) {
  CgroupMemory memory;
  const auto group = group_of(read_file(fmt::format("/proc/{}/cgroup", pid)).value_or(""), root);
  if (!group) return memory;
  memory.is_v2_ = group->is_v2;
  const char* const limit = group->is_v2 ? "/memory.max" : "/memory.limit_in_bytes";
  const char* const used = group->is_v2 ? "/memory.current" : "/memory.usage_in_bytes";
  // A container sees its own group as the root, even if its path outside differs.
  for (std::string path = group->path;; path.resize(path.rfind('/'))) {
    const std::string folder = path == "/" ? group->mount : group->mount + path;
    const auto most = number_in(folder + limit);
    const bool is_less = most && *most < kNoLimit && (!memory.limit_ || *most < *memory.limit_);
    if (is_less) memory.limit_ = most;
    if (number_in(folder + used) && (is_less || memory.folder_.empty())) memory.folder_ = folder;
    if (path.empty() || path.rfind('/') == std::string::npos) break;
  }
  return memory;
}

std::optional<std::int64_t> CgroupMemory::used() const {
  if (folder_.empty()) return {};
  return number_in(folder_ + (is_v2_ ? "/memory.current" : "/memory.usage_in_bytes"));
}

std::optional<std::int64_t> CgroupMemory::kills() const {
  if (folder_.empty()) return {};
  return number_of(read_file(folder_ + (is_v2_ ? "/memory.events" : "/memory.oom_control")).value_or(""), "oom_kill");
}

}  // namespace dcmt::recorder
