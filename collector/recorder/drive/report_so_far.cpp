#include "collector/recorder/drive/report_so_far.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace dcmt::recorder {
namespace {

constexpr auto kLeastBetween = std::chrono::seconds(5);
/// The next one begins after so many times the processor time of the last one.
constexpr int kRestOfReports = 25;
/// A larger trace needs too much memory and time for a line of a view.
constexpr std::uintmax_t kLargestTrace = std::uintmax_t{256} << 20;
/// A report's first line is shorter.
constexpr std::size_t kMostKept = 4096;
constexpr int kLowestPriority = 19;

std::chrono::microseconds time_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

ReportSoFar::~ReportSoFar() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (fd_ >= 0) close(fd_);
}

void ReportSoFar::poll(const std::string& trace) {
  if (pid_ > 0) return take();
  if (Clock::now() < due_) return;
  due_ = Clock::now() + kLeastBetween;
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(trace, error);
  if (!error && bytes <= kLargestTrace) start(trace);
}

void ReportSoFar::start(const std::string& trace) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const char* words[] = {"dc-memtrace", "report", trace.c_str(), nullptr};
  const int failed = posix_spawn(&pid_, program_.c_str(), &actions, nullptr, const_cast<char* const*>(words), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed != 0) {
    pid_ = 0;
    close(ends[0]);
    return;
  }
  fd_ = ends[0];
  output_.clear();
  setpriority(PRIO_PROCESS, static_cast<id_t>(pid_), kLowestPriority);
}

void ReportSoFar::take() {
  char part[4096];
  for (ssize_t got = 0; (got = read(fd_, part, sizeof part)) > 0;) {
    output_.append(part, std::min(static_cast<std::size_t>(got), kMostKept - std::min(kMostKept, output_.size())));
  }
  int status = 0;
  rusage usage{};
  if (wait4(pid_, &status, WNOHANG, &usage) != pid_) return;
  close(fd_);
  fd_ = -1;
  pid_ = 0;
  due_ = Clock::now() +
         std::max<Clock::duration>(kLeastBetween, kRestOfReports * (time_of(usage.ru_utime) + time_of(usage.ru_stime)));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) text_ = output_.substr(0, output_.find('\n'));
}

}  // namespace dcmt::recorder
