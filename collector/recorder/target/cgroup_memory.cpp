#include "collector/recorder/target/cgroup_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <vector>

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

/// The folder of the group, and those of the groups around it. A container sees its own group as the root, even if its
/// path outside differs, so some need not exist.
std::vector<std::string> folders_around(const Group& group) {
  std::vector<std::string> folders;
  for (std::string path = group.path;; path.resize(path.rfind('/'))) {
    folders.push_back(path == "/" ? group.mount : group.mount + path);
    if (path.empty() || path.rfind('/') == std::string::npos) return folders;
  }
}

const char* name_of_use(bool is_v2) { return is_v2 ? "/memory.current" : "/memory.usage_in_bytes"; }

}  // namespace

CgroupMemory CgroupMemory::of(pid_t pid, const std::string& root) {
  CgroupMemory memory;
  const auto group = group_of(read_file(fmt::format("/proc/{}/cgroup", pid)).value_or(""), root);
  if (!group) return memory;
  memory.is_v2_ = group->is_v2;
  const char* const limit = group->is_v2 ? "/memory.max" : "/memory.limit_in_bytes";
  const char* const used = name_of_use(group->is_v2);
  for (const std::string& folder : folders_around(*group)) {
    const auto most = number_in(folder + limit);
    const bool is_less = most && *most < kNoLimit && (!memory.limit_ || *most < *memory.limit_);
    if (is_less) memory.limit_ = most;
    if (number_in(folder + used) && (is_less || memory.folder_.empty())) memory.folder_ = folder;
  }
  return memory;
}

CgroupMemory CgroupMemory::around(const std::set<pid_t>& processes, const std::string& root) {
  CgroupMemory memory;
  std::optional<Group> common;
  for (const pid_t pid : processes) {
    const auto group = group_of(read_file(fmt::format("/proc/{}/cgroup", pid)).value_or(""), root);
    if (!group) continue;
    if (!common) common = group;
    const auto is_in = [&] {
      return group->path == common->path || common->path.empty() || common->path == "/" ||
             group->path.starts_with(common->path + "/");
    };
    while (!is_in()) common->path.resize(common->path.rfind('/'));
  }
  if (!common) return memory;
  memory.is_v2_ = common->is_v2;
  const char* const used = name_of_use(common->is_v2);
  const std::vector<std::string> folders = folders_around(*common);
  const auto own = std::ranges::find_if(folders, [&](const auto& each) { return number_in(each + used).has_value(); });
  if (own != folders.end()) memory.folder_ = *own;
  return memory;
}

std::optional<CgroupUse> CgroupMemory::use() const {
  const std::optional<std::int64_t> all = used();
  const std::string stat = folder_.empty() ? "" : read_file(folder_ + "/memory.stat").value_or("");
  const auto of = [&](std::string_view key) { return number_of(stat, key).value_or(0); };
  if (!all || stat.empty()) return {};
  if (!is_v2_) {
    const std::int64_t shared = of("total_shmem");
    return CgroupUse{*all,
                     of("total_rss"),
                     of("total_cache") - shared,
                     of("total_mapped_file"),
                     shared,
                     number_in(folder_ + "/memory.kmem.usage_in_bytes").value_or(0)};
  }
  std::int64_t kernel = of("kernel");
  // Kernels before 5.18 only have its parts.
  if (kernel == 0) {
    for (const char* each : {"kernel_stack", "pagetables", "sec_pagetables", "percpu", "slab", "vmalloc"}) {
      kernel += of(each);
    }
  }
  const std::int64_t shared = of("shmem");
  return CgroupUse{*all, of("anon"), of("file") - shared, of("file_mapped"), shared, kernel + of("sock")};
}

std::set<pid_t> CgroupMemory::processes() const {
  std::set<pid_t> processes;
  const auto add = [&](const std::string& folder) {
    const std::string lines = read_file(folder + "/cgroup.procs").value_or("");
    for (std::string_view rest = lines; !rest.empty();) {
      if (const auto pid = number_at(next_line(rest))) processes.insert(static_cast<pid_t>(*pid));
    }
  };
  if (folder_.empty()) return processes;
  add(folder_);
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_directory(error)) add(at->path().string());
  }
  return processes;
}

std::optional<std::int64_t> CgroupMemory::used() const {
  if (folder_.empty()) return {};
  return number_in(folder_ + name_of_use(is_v2_));
}

std::optional<std::int64_t> CgroupMemory::kills() const {
  if (folder_.empty()) return {};
  return number_of(read_file(folder_ + (is_v2_ ? "/memory.events" : "/memory.oom_control")).value_or(""), "oom_kill");
}

}  // namespace dcmt::recorder
