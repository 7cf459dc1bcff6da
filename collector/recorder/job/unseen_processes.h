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

  /// One line for each reason.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Found {
    std::string first;  ///< the first process, for a person
    int more = 0;
  };
  [[nodiscard]] std::string why_unseen(pid_t pid) const;

  std::string variable_;  ///< as it stands in the environment of a process that can be recorded
  std::string mounts_;    ///< our mount namespace
  Clock::duration pause_ = std::chrono::milliseconds(200);
  Clock::time_point next_ = Clock::now() + pause_;
  std::map<pid_t, std::uint64_t> below_;  ///< the job and what descends from it, orphans too, by their start
  std::set<pid_t> suspects_;  ///< had no spool at one inspection
  std::set<pid_t> found_pids_;
  std::map<std::string, Found> found_;  ///< by the reason
};

}  // namespace dcmt::recorder
