// Processes below the job that use torch and cannot be recorded, and what keeps them from it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace dcmt::recorder {

/// Inspects /proc from time to time, less and less often; a process that lives for less than that is not noticed.
/// Thread-safety: none.
class UnseenProcesses {
 public:
  explicit UnseenProcesses(std::string spool_folder);

  /// @param job  the command's process  @param seen  processes that have a spool, or have said why they have none
  void look(pid_t job, const std::set<pid_t>& seen);

  /// A process that began at this time (clock ticks since boot) has a spool after all: its libraries took long to load.
  void has_spool(std::uint64_t start);

  /// One line for each reason.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Found {
    pid_t pid = 0;
    std::uint64_t start = 0;
    std::string name, why;
  };
  [[nodiscard]] std::string why_unseen(pid_t pid) const;

  std::string variable_;  ///< as it stands in the environment of a process that can be recorded
  std::string mounts_;    ///< our mount namespace
  Clock::duration pause_ = std::chrono::milliseconds(200);
  Clock::time_point next_ = Clock::now() + pause_;
  std::map<pid_t, std::uint64_t> below_;  ///< the job and what descends from it, orphans too, by their start
  std::set<pid_t> suspects_;              ///< had no spool at one inspection
  std::vector<Found> found_;
};

}  // namespace dcmt::recorder
