#include "collector/recorder/drive/signal_queue.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dcmt::recorder {
namespace {

/// Another process sends it: a signal that a process causes itself does not count.
void get(int signal) {
  const pid_t to = getpid();
  const pid_t sender = fork();
  if (sender == 0) _exit(kill(to, signal));
  waitpid(sender, nullptr, 0);
}

bool is_blocked(int signal) {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  return sigismember(&now, signal) == 1;
}

/// The number of the first expectation that fails, in a process of its own, whose signals stay blocked.
int recording() {
  SignalQueue signals(SignalsFor::kRecording);
  if (signals.asked_to_end()) return 1;
  if (is_blocked(SIGUSR1) || is_blocked(SIGCHLD)) return 2;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    get(signal);
    if (!signals.asked_to_end() || !signals.asked_to_end()) return 3;
    signals.forget_end();
    if (signals.asked_to_end()) return 4;
  }
  // It stops when it is asked, after the terminal is restored.
  bool restored = false;
  signals.before_stop([&] { restored = true; });
  get(SIGTSTP);
  if (signals.asked_to_end() || !restored || !is_blocked(SIGTSTP)) return 6;
  get(SIGPIPE);
  return signals.asked_to_end() || !signals.receive().empty() ? 5 : 0;
}

TEST(SignalQueue, ARecordingEndsWhenAskedAndAllElseActsAsUsual) {
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);  // a group whose parent is in no other group of the session does not stop
    _exit(recording());
  }
  int status = -1;
  waitpid(child, &status, WUNTRACED);
  EXPECT_TRUE(WIFSTOPPED(status)) << "Ctrl-Z; failed: " << WEXITSTATUS(status);
  kill(child, SIGCONT);
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "failed: " << WEXITSTATUS(status);
}

}  // namespace
}  // namespace dcmt::recorder
