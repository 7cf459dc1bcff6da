#include "collector/recorder/target/process_table.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "trace/base/read_file.h"

namespace dcmt::recorder {
namespace {

constexpr unsigned long kExiting = 0x4;  // PF_EXITING

std::optional<ProcessEntry> read_entry(std::int64_t pid) {
  const std::string line = read_file("/proc/" + std::to_string(pid) + "/stat").value_or("");
  // The name in parentheses may have any character, so count fields after its end. The state is field 3, the parent 4,
  // the kernel's flags 9, the start time 22, the begin of the stack 28.
  const std::size_t name_begin = line.find('(');
  const std::size_t name_end = line.rfind(')');
  if (name_begin == std::string::npos || name_end == std::string::npos || name_end + 2 > line.size()) return {};
  ProcessEntry entry;
  entry.pid = static_cast<pid_t>(pid);
  entry.name = line.substr(name_begin + 1, name_end - name_begin - 1);
  std::istringstream fields(line.substr(name_end + 2));
  std::string field;
  for (int index = 3; index <= 28 && fields >> field; ++index) {
    if (index == 3 && (field == "Z" || field == "X")) return {};
    if (index == 4) entry.parent = static_cast<pid_t>(std::strtol(field.c_str(), nullptr, 10));
    if (index == 9) entry.leaves = (std::strtoul(field.c_str(), nullptr, 10) & kExiting) != 0;
    if (index == 22) entry.start = std::strtoull(field.c_str(), nullptr, 10);
    if (index == 28) entry.stack = std::strtoull(field.c_str(), nullptr, 10);
  }
  return entry;
}

/// The process's pid in its innermost namespace: the last number.
std::int64_t own_pid(pid_t pid) {
  std::istringstream file(read_file("/proc/" + std::to_string(pid) + "/status").value_or(""));
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("NSpid:")) continue;
    return std::strtoll(line.c_str() + line.find_last_of("\t ") + 1, nullptr, 10);
  }
  return 0;
}

}  // namespace

std::uint64_t process_start(std::int64_t pid) {
  const std::optional<ProcessEntry> entry = read_entry(pid);
  return entry ? entry->start : 0;
}

bool is_leaving(std::int64_t pid) {
  const std::optional<ProcessEntry> entry = read_entry(pid);
  return entry && entry->leaves;
}

std::vector<ProcessEntry> all_processes() {
  std::vector<ProcessEntry> processes;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (auto entry = read_entry(std::strtoll(name.c_str(), nullptr, 10))) processes.push_back(std::move(*entry));
  }
  return processes;
}

std::set<pid_t> with_descendants(std::set<pid_t> of, const std::vector<ProcessEntry>& processes) {
  for (bool grown = true; std::exchange(grown, false);) {
    for (const ProcessEntry& each : processes) {
      if (of.contains(each.parent)) grown |= of.insert(each.pid).second;
    }
  }
  return of;
}

pid_t pid_here(std::int64_t pid, std::uint64_t start) {
  if (start == 0) return 0;
  if (process_start(pid) == start) return static_cast<pid_t>(pid);
  for (const ProcessEntry& entry : all_processes()) {
    if (entry.start == start && own_pid(entry.pid) == pid) return entry.pid;
  }
  return 0;
}

}  // namespace dcmt::recorder
