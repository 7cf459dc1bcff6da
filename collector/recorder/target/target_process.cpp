#include "collector/recorder/target/target_process.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>

#include "collector/recorder/target/process_table.h"
#include "trace/arch/arch.h"
#include "trace/base/descriptor.h"
#include "trace/base/printable.h"
#include "trace/base/read_file.h"

namespace dcmt::recorder {
namespace {

namespace fs = std::filesystem;

constexpr char kStandbyThread[] = "dcmt-standby\n";
constexpr char kTorchLibrary[] = "/libtorch_cpu.so";
constexpr char kSpoolVariable[] = "DC_MEMTRACE_SPOOL=";
constexpr unsigned long kExits = 0x4;  // PF_EXITING of the kernel's flags
constexpr std::size_t kBeginning = 4096;

std::string proc(pid_t pid, const char* name) { return fmt::format("/proc/{}/{}", pid, name); }

/// Reads state, parent and flags: fields 3, 4 and 9.
void read_stat(TargetProcess& target) {
  const std::string line = read_file(proc(target.pid, "stat")).value_or("");
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos || name_end + 2 > line.size()) return;
  std::istringstream fields(line.substr(name_end + 2));
  std::string field;
  for (int index = 3; index <= 9 && fields >> field; ++index) {
    if (index == 3) target.state = field[0];
    if (index == 4) target.parent = static_cast<pid_t>(std::strtol(field.c_str(), nullptr, 10));
    if (index == 9) target.exits = (std::strtoul(field.c_str(), nullptr, 10) & kExits) != 0;
  }
}

pid_t tracer_of(pid_t pid) {
  std::istringstream text(read_file(proc(pid, "status")).value_or(""));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("TracerPid:")) return static_cast<pid_t>(std::strtol(line.c_str() + 10, nullptr, 10));
  }
  return 0;
}

std::string beginning_of(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string bytes(kBeginning, '\0');
  const ssize_t got = file.get() >= 0 ? read(file.get(), bytes.data(), bytes.size()) : 0;
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

bool has_standby_thread(pid_t pid) {
  std::error_code error;
  for (fs::directory_iterator at(proc(pid, "task"), error), end; !error && at != end; at.increment(error)) {
    if (read_file(at->path().string() + "/comm").value_or("") == kStandbyThread) return true;
  }
  return false;
}

/// Matching processes of this user, or of all users for root, sorted by pid.
std::vector<TargetProcess> all_where(const std::function<bool(pid_t)>& wanted) {
  std::vector<TargetProcess> found;
  for (const ProcessEntry& entry : all_processes()) {
    struct stat status {};
    const bool may = stat(fmt::format("/proc/{}", entry.pid).c_str(), &status) == 0 &&
                     (status.st_uid == geteuid() || geteuid() == 0);
    if (!may || !wanted(entry.pid)) continue;
    if (Expected<TargetProcess> target = inspect_process(entry.pid); target.ok()) found.push_back(std::move(*target));
  }
  std::ranges::sort(found, {}, &TargetProcess::pid);
  return found;
}

bool has_variable(pid_t pid, const char* name) {
  const std::string text = read_file(proc(pid, "environ")).value_or("");
  return text.starts_with(name) || text.find(std::string(1, '\0') + name) != std::string::npos;
}

}  // namespace

Executable executable_of(const std::string& beginning) {
  Elf64_Ehdr header{};
  if (beginning.size() < sizeof header) {
    const bool is_elf = beginning.starts_with(ELFMAG) && beginning.size() > EI_CLASS;
    return is_elf && beginning[EI_CLASS] == ELFCLASS32 ? Executable::kOtherArchitecture : Executable::kUnreadable;
  }
  std::memcpy(&header, beginning.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return Executable::kUnreadable;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != arch::kElfMachine)
    return Executable::kOtherArchitecture;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const std::size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    if (at > beginning.size() || beginning.size() - at < sizeof(Elf64_Phdr)) return Executable::kUnreadable;
    Elf64_Phdr part{};
    std::memcpy(&part, beginning.data() + at, sizeof part);
    if (part.p_type == PT_INTERP) return Executable::kDynamic;
  }
  return Executable::kStatic;
}

std::string process_text(pid_t pid) {
  std::string name = read_file(proc(pid, "comm")).value_or("");
  if (name.ends_with('\n')) name.pop_back();
  return name.empty() ? fmt::format("process {}", pid) : fmt::format("process {} ({})", pid, printable(name));
}

Expected<TargetProcess> inspect_process(pid_t pid) {
  struct stat status {};
  TargetProcess target;
  target.pid = pid;
  if (stat(fmt::format("/proc/{}", pid).c_str(), &status) != 0) {
    return Error{ErrorCode::kCannotRecord, fmt::format("process {} does not exist", pid)};
  }
  target.user = status.st_uid;
  read_stat(target);
  target.name = read_file(proc(pid, "comm")).value_or("");
  if (target.name.ends_with('\n')) target.name.pop_back();
  std::istringstream words(read_file(proc(pid, "cmdline")).value_or(""));
  for (std::string word; std::getline(words, word, '\0');) target.command.push_back(word);
  target.tracer = tracer_of(pid);
  target.executable = executable_of(beginning_of(proc(pid, "exe")));
  const std::string maps = read_file(proc(pid, "maps")).value_or("");
  target.has_torch = maps.find(kTorchLibrary) != std::string::npos;
  target.in_standby = has_standby_thread(pid);
  target.has_agent = maps.find("libdcmt_agent.so") != std::string::npos;
  target.has_agents_memory = maps.find("/memfd:libdcmt_agent.so") != std::string::npos;
  target.recorded_run = !target.in_standby && target.has_torch && target.has_agent && has_variable(pid, kSpoolVariable);
  target.launch = launch_of_process(pid);
  return target;
}

std::vector<TargetProcess> all_in_standby() {
  return all_where([](pid_t pid) { return has_standby_thread(pid); });
}

std::vector<TargetProcess> all_with_torch() {
  std::vector<TargetProcess> found = all_where([](pid_t pid) {
    return has_standby_thread(pid) ||
           read_file(proc(pid, "maps")).value_or("").find(kTorchLibrary) != std::string::npos;
  });
  std::map<pid_t, std::vector<std::string>> commands;
  for (const TargetProcess& each : found) commands[each.pid] = each.command;
  std::erase_if(found, [&](const TargetProcess& each) {
    const auto parent = commands.find(each.parent);
    const bool is_forked = parent != commands.end() && parent->second == each.command;
    return !each.in_standby && (each.has_agent || is_forked);
  });
  return found;
}

std::optional<Obstacle> obstacle_of(const TargetProcess& target) {
  const std::string who = process_text(target.pid);
  if (target.user != geteuid() && geteuid() != 0) {
    return Obstacle{fmt::format("{} belongs to another user (uid {})", who, target.user),
                    "attach as that user, or as root"};
  }
  if (target.state == 'Z' || target.state == 'X' || target.exits) {
    return Obstacle{who + " has ended, or is about to", "attach to one that runs"};
  }
  if (target.state == 't') {
    return Obstacle{fmt::format("{} is stopped by its tracer, {}", who, process_text(target.tracer)),
                    "let it go on there"};
  }
  if (target.state == 'T') {
    return Obstacle{who + " is stopped", fmt::format("let it go on: kill -CONT {}", target.pid)};
  }
  return std::nullopt;
}

Obstacle why_not_in_standby(const TargetProcess& target) {
  const std::string who = process_text(target.pid);
  if (target.executable == Executable::kOtherArchitecture) {
    return {fmt::format("{} is a program of another architecture than {}", who, arch::kName),
            "name a process of a program with torch"};
  }
  if (target.executable == Executable::kStatic) {
    return {who + " is a static program, which cannot have torch", "name a process of a program with torch"};
  }
  if (target.recorded_run) {
    return {who + " is recorded already, by dc-memtrace run", "see what that run recorded: dc-memtrace report"};
  }
  if (target.has_agent) {
    return {who + " has dc-memtrace's agent, but does not wait for requests",
            "if it is a forked child, attach to its parent; else it could not make its socket (XDG_RUNTIME_DIR, /tmp)"};
  }
  if (!target.has_torch) {
    return {who + " is not in standby, and has not imported torch",
            "attach with --wait, or start it by dc-memtrace run --standby -- COMMAND"};
  }
  return {who + " is not in standby",
          "start it by dc-memtrace run --standby -- COMMAND, or have it import dc_memtrace.standby"};
}

Error refusal(const Obstacle& obstacle) {
  return {ErrorCode::kCannotRecord, fmt::format("{}: {}", obstacle.what, obstacle.remedy)};
}

}  // namespace dcmt::recorder
