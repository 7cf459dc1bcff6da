// Finds child processes of the job that use torch and cannot be recorded, and the reasons.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace dcmt::recorder {

/// Inspects /proc at increasing intervals; it misses a process that lives for less than an interval. Thread-safety:
/// none.
class UnseenProcesses {
 public:
  explicit UnseenProcesses(std::string spool_folder);

  /// @param job  the command's process  @param seen  processes that have a spool, or have reported why they have none
  void inspect(pid_t job, const std::set<pid_t>& seen);

  /// A process that began at this time (clock ticks since boot) has a spool after all: it loaded its libraries slowly.
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

  std::string variable_;  ///< its text in the environment of a process that can be recorded
  std::string mounts_;    ///< our mount namespace
  Clock::duration pause_ = std::chrono::milliseconds(200);
  Clock::time_point next_ = Clock::now() + pause_;
  std::map<pid_t, std::uint64_t> below_;  ///< the job and its descendants, including orphans, by start time
  std::set<pid_t> suspects_;              ///< had no spool at one inspection
  std::vector<Found> found_;
};

}  // namespace dcmt::recorder
