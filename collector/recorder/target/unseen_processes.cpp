#include "collector/recorder/target/unseen_processes.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "collector/agent/environment.h"
#include "collector/recorder/target/process_table.h"
#include "trace/base/read_file.h"

namespace dcmt::recorder {
namespace {

constexpr auto kLongestPause = std::chrono::seconds(2);
/// With the longest pauses, inspections use at most one part in this many of the time.
constexpr int kShare = 200;

std::string file_of(pid_t pid, const char* name) {
  return read_file(fmt::format("/proc/{}/{}", pid, name)).value_or("");
}

std::string mounts_of(const std::string& pid) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/" + pid + "/ns/mnt", error).string();
}

bool uses_torch(pid_t pid) { return file_of(pid, "maps").find("/libc10.so") != std::string::npos; }

}  // namespace

UnseenProcesses::UnseenProcesses(std::string spool_folder)
    : variable_(fmt::format("{}={}", agent::kEnvSpool, spool_folder)), mounts_(mounts_of("self")) {}

std::string UnseenProcesses::why_unseen(pid_t pid) const {
  const std::string path = fmt::format("/proc/{}", pid);
  struct stat owner {};
  if (stat(path.c_str(), &owner) != 0) return {};
  if (owner.st_uid != geteuid()) return "it runs with the rights of another user";
  if (file_of(pid, "environ").find(variable_) == std::string::npos) return "its environment was cleared";
  if (mounts_of(std::to_string(pid)) != mounts_) return "it is in a mount namespace of its own";
  return {};
}

void UnseenProcesses::inspect(pid_t job, const std::set<pid_t>& seen) {
  const auto begin = Clock::now();
  if (begin < next_) return;
  const std::vector<ProcessEntry> processes = all_processes();
  std::set<pid_t> known;
  for (const ProcessEntry& each : processes) {
    const auto before = below_.find(each.pid);
    if (each.pid == job || (before != below_.end() && before->second == each.start)) known.insert(each.pid);
  }
  const std::set<pid_t> below = with_descendants(std::move(known), processes);
  below_.clear();
  for (const ProcessEntry& each : processes) {
    if (below.contains(each.pid)) below_[each.pid] = each.start;
  }
  for (const ProcessEntry& each : processes) {
    const auto is_it = [&](const Found& found) { return found.pid == each.pid; };
    if (!below_.contains(each.pid) || seen.contains(each.pid) || std::ranges::any_of(found_, is_it)) continue;
    std::string why = why_unseen(each.pid);
    if (why.empty() || !uses_torch(each.pid)) continue;
    // Its spool may still appear: a process is reported only if it has none at the next inspection, either.
    if (suspects_.insert(each.pid).second) continue;
    found_.push_back({each.pid, each.start, each.name, std::move(why)});
  }
  const auto now = Clock::now();
  // The first inspections are close together regardless of their cost: a program can end within seconds.
  next_ = now + (pause_ < kLongestPause ? pause_ : std::max(pause_, kShare * (now - begin)));
  pause_ = std::min<Clock::duration>(2 * pause_, kLongestPause);
}

void UnseenProcesses::has_spool(std::uint64_t start) {
  std::erase_if(found_, [&](const Found& found) { return found.start == start; });
}

std::vector<std::string> UnseenProcesses::notes() const {
  std::map<std::string, std::pair<const Found*, int>> by_reason;  // the first process, and their number
  for (const Found& each : found_) ++by_reason.try_emplace(each.why, &each, 0).first->second.second;
  std::vector<std::string> notes;
  for (const auto& [why, found] : by_reason) {
    const auto& [first, count] = found;
    const std::string more = count > 1 ? fmt::format(" ({} more alike)", count - 1) : "";
    notes.push_back(
        fmt::format("process {} ({}) uses torch and is not recorded: {}{}", first->pid, first->name, why, more));
  }
  return notes;
}

}  // namespace dcmt::recorder
