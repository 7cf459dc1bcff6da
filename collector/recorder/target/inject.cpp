#include "collector/recorder/target/inject.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <new>
#include <sstream>
#include <thread>
#include <utility>

#include "collector/recorder/target/borrow_thread.h"
#include "collector/recorder/target/entry_code.h"
#include "collector/scan/memory/process_memory.h"
#include "collector/scan/process/elf_file.h"
#include "trace/arch/arch.h"
#include "trace/base/descriptor.h"
#include "trace/base/read_file.h"

namespace dcmt::recorder {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr char kAgentLibrary[] = "libdcmt_agent.so";
constexpr char kAgentMemory[] = "/memfd:libdcmt_agent.so";  ///< the kernel's name of the mapping
constexpr char kStandbyFunction[] = "dcmt_standby";
constexpr std::array<const char*, 4> kSanitizers{"/libasan.so", "/libtsan.so", "/libclang_rt.asan",
                                                 "/libclang_rt.tsan"};

constexpr auto kPause = std::chrono::milliseconds(1);
constexpr auto kMostSearching = std::chrono::seconds(5);      ///< for finding a thread
constexpr auto kOnlyAsleep = std::chrono::milliseconds(200);  ///< before a running thread is borrowed
constexpr auto kMostLoading = std::chrono::seconds(10);       ///< it may wait for libraries that the program itself
                                                              ///< loads
// Exit codes of the tracing child.
constexpr int kCalls = 0;
constexpr int kDidNotStop = EXIT_FAILURE;  ///< a thread did not stop in time: on a busy machine it may have had no core
constexpr int kNoThread = 2;
constexpr int kRefused = 3;

/// A field of /proc/PID/status without leading blanks.
std::string status_field(pid_t pid, const std::string& name) {
  std::istringstream text(read_file(fmt::format("/proc/{}/status", pid)).value_or(""));
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with(name + ":")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

/// True if the path names the same file for the process and for us.
bool sees(pid_t pid, const std::string& path) {
  struct stat ours {};
  struct stat theirs {};
  return stat(path.c_str(), &ours) == 0 && stat(fmt::format("/proc/{}/root{}", pid, path).c_str(), &theirs) == 0 &&
         ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

/// Tries until a thread makes the call, or the time is over. It runs in a process of its own, whose end releases all
/// threads.
/// @param borrowed  shared with the caller: the only thread that may be borrowed, unless it is 0; receives the borrowed
/// thread
[[noreturn]] void trace(pid_t pid, const EntryCode& code, const ThreadCall& call,
                        const std::vector<scan::Region>& regions, pid_t& borrowed) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  get_ready_to_borrow();
  const auto began = Clock::now();
  for (auto now = began; now < began + kMostSearching; std::this_thread::sleep_for(kPause), now = Clock::now()) {
    std::vector<pid_t> threads = threads_to_borrow(pid);
    // A running thread may have to be stopped many times until it is inside the loop; never without a loop.
    const bool at_work = threads.empty() && now > began + kOnlyAsleep && !code.python_loop.empty();
    if (at_work) threads = threads_at_work(pid);
    for (const pid_t thread : threads) {
      if (borrowed != 0 && thread != borrowed) continue;
      switch (call_by(pid, thread, code, call, regions)) {
        case Borrowed::kCalls:
          borrowed = thread;
          _exit(kCalls);
        case Borrowed::kRefused:
          _exit(kRefused);
        case Borrowed::kNotNow:
          break;
      }
    }
  }
  _exit(kNoThread);
}

/// The child's exit code: one of the above, or -1.
int traced_once_in_a_child(pid_t pid, const EntryCode& code, const ThreadCall& call,
                           const std::vector<scan::Region>& regions, pid_t& borrowed, Clock::time_point until) {
  const pid_t child = fork();
  if (child == 0) trace(pid, code, call, regions, borrowed);
  if (child < 0) return -1;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() > until) {  // its end releases the thread
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(kPause);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The same, repeated while there is time.
int traced_in_a_child(pid_t pid, const EntryCode& code, const ThreadCall& call,
                      const std::vector<scan::Region>& regions, pid_t& borrowed) {
  const auto until = Clock::now() + kMostSearching + std::chrono::seconds(1);
  for (;; std::this_thread::sleep_for(kPause)) {
    const int how = traced_once_in_a_child(pid, code, call, regions, borrowed, until);
    if (how != kDidNotStop || Clock::now() > until) return how;
  }
}

Error cannot(const TargetProcess& target, const std::string& why) {
  return {ErrorCode::kCannotRecord, fmt::format("{} {}", process_text(target.pid), why)};
}

}  // namespace

std::optional<Obstacle> injection_obstacle(const TargetProcess& target) {
  const std::string who = process_text(target.pid);
  if (arch::kNoEntering != nullptr)
    return Obstacle{arch::kNoEntering, "start it by dc-memtrace run, with --standby to attach later"};
  if (target.tracer != 0) {
    return Obstacle{fmt::format("{} is traced by {}", who, process_text(target.tracer)), "end that first"};
  }
  if (status_field(target.pid, "Seccomp") == "1") {
    return Obstacle{who + " may make next to no system calls (seccomp)", "nothing can be done in it"};
  }
  if (status_field(target.pid, "x86_Thread_features").find("shstk") != std::string::npos) {
    return Obstacle{who + " has a shadow stack, which a call from outside would break",
                    "start it by dc-memtrace run --standby"};
  }
  const std::string maps = read_file(fmt::format("/proc/{}/maps", target.pid)).value_or("");
  const auto is_loaded = [&](const char* name) { return maps.find(name) != std::string::npos; };
  if (std::ranges::any_of(kSanitizers, is_loaded)) {
    return Obstacle{who + " runs under a sanitizer, which watches the calls that would be hooked",
                    "attach to one that was built without"};
  }
  // The same right is needed to read in which call a thread waits.
  if (!read_file(fmt::format("/proc/{}/syscall", target.pid))) {
    const bool yama = read_file("/proc/sys/kernel/yama/ptrace_scope").value_or("0") != "0\n";
    return Obstacle{who + " may not be traced by this user",
                    yama ? "be root, or start the program by dc-memtrace run --standby (kernel.yama.ptrace_scope)"
                         : "be root, or start the program by dc-memtrace run --standby"};
  }
  return std::nullopt;
}

namespace {

/// A process that is entered, and the calls that one of its threads makes one after the other. It is always the same
/// thread, which returns to its wait after each call.
class Entered {
 public:
  Entered(const TargetProcess& target, scan::ProcessMemory memory, const EntryCode& code)
      : target_(target), memory_(std::move(memory)), code_(code) {
    void* shared = mmap(nullptr, sizeof(pid_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared != MAP_FAILED) borrowed_ = new (shared) pid_t(0);
  }
  ~Entered() {
    if (borrowed_ != nullptr) munmap(borrowed_, sizeof(pid_t));
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

  /// The library and its dependencies have the same paths in the process.
  Status load_by_path(const std::string& library) {
    DCMT_RETURN_IF_ERROR(call({code_.dlopen, library, 0, RTLD_NOW | RTLD_GLOBAL}));
    return wait_for_standby();
  }

  /// They do not, for example in a container: the agent is transferred as memory, through a descriptor that is closed
  /// afterwards.
  Status load_by_memory(const std::string& agent) {
    if (code_.memfd_create == 0 || code_.close == 0) return cannot(target_, "has a C library that is too old for this");
    const scan::ElfFile file(agent);
    const auto standby = file.exported(kStandbyFunction);
    if (!standby) return cannot(target_, "cannot be entered: " + agent + " is not to be read");
    DCMT_RETURN_IF_ERROR(call({code_.memfd_create, kAgentLibrary, 0, MFD_CLOEXEC}));
    DCMT_ASSIGN_OR_RETURN(const int descriptor, wait_for<int>([&] { return descriptor_of(kAgentMemory); }));
    DCMT_RETURN_IF_ERROR(fill(descriptor, agent));
    DCMT_RETURN_IF_ERROR(call({code_.dlopen, fmt::format("/proc/self/fd/{}", descriptor), 0, RTLD_NOW | RTLD_GLOBAL}));
    DCMT_ASSIGN_OR_RETURN(const std::uint64_t base, wait_for<std::uint64_t>([&] { return mapped(kAgentMemory); }));
    DCMT_RETURN_IF_ERROR(call({base - file.first_page() + *standby, "", 0, 0}));
    DCMT_RETURN_IF_ERROR(wait_for_standby());
    // It is not needed any more, and does no harm if it stays open.
    (void)call({code_.close, "", static_cast<std::uint64_t>(descriptor), 0}).ok();
    return {};
  }

 private:
  Status call(const ThreadCall& call) {
    if (borrowed_ == nullptr) return cannot(target_, "could not be entered: there is no memory");
    const int how = traced_in_a_child(target_.pid, code_, call, memory_.regions(), *borrowed_);
    if (how == kCalls) return {};
    if (how == kNoThread) {
      return Error{
          ErrorCode::kStopped,
          fmt::format("{} has no thread that is asleep, or runs Python, where it can be borrowed: attach again, or "
                      "start the program by dc-memtrace run --standby",
                      process_text(target_.pid))};
    }
    return how == kRefused ? cannot(target_, "may not be traced: be root, or check whether another program traces it")
                           : cannot(target_, "could not be entered: a thread of it did not stop. It goes on as it was");
  }

  /// Repeats until `find` finds something.
  template <class T>
  Expected<T> wait_for(const std::function<std::optional<T>()>& find) {
    for (const auto until = Clock::now() + kMostLoading; Clock::now() < until; std::this_thread::sleep_for(kPause)) {
      if (const std::optional<T> found = find()) return *found;
      if (const Expected<TargetProcess> now = inspect_process(target_.pid); !now.ok()) return now.error();
    }
    return cannot(target_,
                  "has not loaded dc-memtrace's library within 10 s: it is loading others, or has no room for it "
                  "(thread-local storage: GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096 at its next start)");
  }

  Status wait_for_standby() {
    return wait_for<bool>([&]() -> std::optional<bool> {
             const Expected<TargetProcess> now = inspect_process(target_.pid);
             return now.ok() && now->in_standby ? std::optional(true) : std::nullopt;
           })
        .status();
  }

  [[nodiscard]] std::optional<int> descriptor_of(const std::string& file) const {
    std::error_code error;
    for (fs::directory_iterator at(fmt::format("/proc/{}/fd", target_.pid), error), end; !error && at != end;
         at.increment(error)) {
      std::error_code gone;
      if (fs::read_symlink(at->path(), gone).string().starts_with(file)) {
        return static_cast<int>(std::strtol(at->path().filename().c_str(), nullptr, 10));
      }
    }
    return std::nullopt;
  }

  /// The address at which the file's begin is mapped, once its code is mapped.
  [[nodiscard]] std::optional<std::uint64_t> mapped(const std::string& file) const {
    auto memory = scan::ProcessMemory::open(target_.pid);
    if (!memory.ok()) return std::nullopt;
    std::optional<std::uint64_t> begin;
    bool has_code = false;
    for (const scan::Region& region : memory->regions()) {
      if (!region.path.starts_with(file)) continue;
      if (region.file_offset == 0 && !begin) begin = region.begin;
      has_code = has_code || region.executable;
    }
    return has_code ? begin : std::nullopt;
  }

  Status fill(int descriptor, const std::string& file) const {
    const std::string bytes = read_file(file).value_or("");
    const std::string there = fmt::format("/proc/{}/fd/{}", target_.pid, descriptor);
    const Descriptor to(open(there.c_str(), O_WRONLY | O_CLOEXEC));
    if (!bytes.empty() && to.get() >= 0 && write(to.get(), bytes.data(), bytes.size()) == std::ssize(bytes)) return {};
    return cannot(target_, fmt::format("cannot be given dc-memtrace's library: {}", std::strerror(errno)));
  }

  const TargetProcess& target_;
  scan::ProcessMemory memory_;
  const EntryCode code_;
  pid_t* borrowed_ = nullptr;
};

}  // namespace

Status inject(const TargetProcess& target, const std::string& library) {
  if (const auto obstacle = injection_obstacle(target)) return refusal(*obstacle);
  DCMT_ASSIGN_OR_RETURN(scan::ProcessMemory memory, scan::ProcessMemory::open(target.pid));
  const Expected<EntryCode> code = find_entry_code(memory);
  if (!code.ok()) return cannot(target, code.error().message);
  Entered entered(target, std::move(memory), *code);
  if (sees(target.pid, library)) return entered.load_by_path(library);
  return entered.load_by_memory(fs::path(library).parent_path() / kAgentLibrary);
}

}  // namespace dcmt::recorder
