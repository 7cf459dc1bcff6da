// What is sent to the recorder is meant for its job.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>

#include <chrono>
#include <deque>
#include <optional>
#include <vector>

#include "collector/recorder/job/group_witness.h"

namespace dcmt::recorder {

/// Blocks every signal that can be blocked and hands out those that the job must be sent, since it has not got them
/// itself. A full disk quota and a closed terminal are errors of a write here, not the signals SIGXFSZ and SIGPIPE. The
/// child it starts has the signal mask and actions this process had before. Signals stay blocked until the process
/// ends: what is still to be said goes to the same terminal.
///
/// Make one before any thread begins and before files are opened. Thread-safety: none.
class SignalQueue {
 public:
  SignalQueue();
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  /// The signals that have come for the job alone, in their order. A signal is handed out some 30 ms after it came:
  /// when it is certain whether the whole process group has got it.
  std::vector<signalfd_siginfo> take();
  /// Signals that ask a process to end have come since the last call, to us or to the group.
  bool asked_to_end();
  /// For the child, between fork and exec.
  void restore() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    signalfd_siginfo info;
    Clock::time_point since;
  };
  void read_all();
  void ask_witness();

  int fd_ = -1;
  sigset_t before_{};
  struct sigaction child_before_ {};
  std::optional<GroupWitness> witness_;
  std::deque<Pending> pending_;
  SignalCounts group_{};  ///< the group has got them and we have not yet
  Clock::time_point group_since_{};
  bool asked_to_end_ = false;
};

/// Sends the job what came for it.
void pass_on(pid_t job, const signalfd_siginfo& signal);

/// Stops this process as the job has been stopped by `signal`, so that a shell's Ctrl-Z and fg work as without us.
void stop_as_the_job(int signal);

}  // namespace dcmt::recorder
