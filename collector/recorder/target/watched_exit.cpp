#include "collector/recorder/target/watched_exit.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "trace/base/read_file.h"

namespace dcmt::recorder {
namespace {

/// struct pidfd_info and its request, as Linux has them since 6.15; the headers of most systems are older.
struct PidfdInfo {
  std::uint64_t mask;
  std::uint64_t cgroup;
  std::uint32_t ids[11];
  std::int32_t exit_code;
};
static_assert(sizeof(PidfdInfo) == 64);
constexpr std::uint64_t kHasExit = 1U << 3;
constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, PidfdInfo);

/// Of a process that has ended, and whose parent has not asked how.
std::optional<int> status_of_zombie(pid_t pid) {
  const std::string line = read_file("/proc/" + std::to_string(pid) + "/stat").value_or("");
  const std::size_t name_end = line.rfind(')');
  const std::size_t last = line.rfind(' ');
  if (name_end == std::string::npos || line.compare(name_end, 3, ") Z") != 0) return std::nullopt;
  return static_cast<int>(std::strtol(line.c_str() + last, nullptr, 10));
}

}  // namespace

WatchedExit::WatchedExit(pid_t pid) : pid_(pid) {
  if (pid > 0) fd_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0U));
}

WatchedExit::~WatchedExit() {
  if (fd_ >= 0) close(fd_);
}

WatchedExit::WatchedExit(WatchedExit&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), fd_(std::exchange(other.fd_, -1)) {}

WatchedExit& WatchedExit::operator=(WatchedExit&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(fd_, other.fd_);
  return *this;
}

std::optional<bool> WatchedExit::has_ended() const {
  if (fd_ < 0) return std::nullopt;
  pollfd ended{fd_, POLLIN, 0};
  return poll(&ended, 1, 0) == 1;
}

std::optional<int> WatchedExit::wait_status() const {
  if (!has_ended().value_or(false)) return std::nullopt;
  // The number of a process whose parent has not asked cannot belong to another one.
  if (const std::optional<int> status = status_of_zombie(pid_)) return status;
  PidfdInfo info{};
  info.mask = kHasExit;
  if (ioctl(fd_, kGetInfo, &info) != 0 || (info.mask & kHasExit) == 0) return std::nullopt;
  return info.exit_code;
}

std::string exit_words(int wait_status) {
  return WIFSIGNALED(wait_status) ? fmt::format("signal {}", WTERMSIG(wait_status))
                                  : fmt::format("exit {}", WEXITSTATUS(wait_status));
}

std::string signal_name(const std::string& exit) {
  if (!exit.starts_with("signal ")) return {};
  const char* const name = sigabbrev_np(std::atoi(exit.c_str() + std::strlen("signal ")));
  return name != nullptr ? std::string("SIG") + name : exit;
}

}  // namespace dcmt::recorder
