// The signals that the recorder gets.
#pragma once

#include <signal.h>
#include <sys/signalfd.h>

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "collector/recorder/drive/group_witness.h"

namespace dcmt::recorder {

/// Whom signals to the recorder are meant for.
enum class SignalsFor {
  /// The job that the recorder starts. Every signal that can be blocked is blocked, and receive() returns those that
  /// must
  /// be sent to the job because it did not get them itself. A full disk quota and a closed terminal cause errors of a
  /// write, not the signals SIGXFSZ and SIGPIPE. The job gets this process's earlier signal mask and actions.
  kJob,
  /// The recording, which a signal that asks a process to end ends. These signals, SIGTSTP and SIGPIPE are blocked.
  kRecording,
};

/// Signals stay blocked until the process ends, because remaining messages go to the same terminal.
///
/// Make one before any thread begins and before files are opened. Thread-safety: none.
class SignalQueue {
 public:
  explicit SignalQueue(SignalsFor whom);
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  /// The signals that came for the job alone, in order. A signal is returned some 30 ms after it came: then it is
  /// certain whether the whole process group got it.
  std::vector<signalfd_siginfo> receive();
  /// True if signals that ask a process to end have come since the last forget_end(), to us or to the group.
  bool asked_to_end();
  /// Waits for another one.
  void forget_end() { asked_to_end_ = false; }
  /// Of a recording: what to do before this process stops because of Ctrl-Z, which it does in asked_to_end().
  void before_stop(std::function<void()> restore_terminal) { before_stop_ = std::move(restore_terminal); }
  /// Called in the child between fork and exec.
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
  std::optional<GroupWitness> witness_;  ///< for a job
  std::deque<Pending> pending_;
  std::function<void()> before_stop_;
  SignalCounts group_{};  ///< signals that the group has got and this process has not
  Clock::time_point group_since_{};
  bool asked_to_end_ = false, asked_to_stop_ = false;
};

/// Sends the job a signal that came for it.
void pass_on(pid_t job, const signalfd_siginfo& signal);

/// Stops this process like the job, which `signal` has stopped, so that a shell's Ctrl-Z and fg work as usual.
void stop_as_the_job(int signal);

}  // namespace dcmt::recorder
