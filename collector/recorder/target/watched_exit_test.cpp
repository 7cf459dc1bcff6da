#include "collector/recorder/target/watched_exit.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dcmt::recorder {
namespace {

pid_t child_that(auto&& ends) {
  const pid_t pid = fork();
  if (pid == 0) {
    ends();
    _exit(0);
  }
  return pid;
}

void wait_until_it_ends(pid_t pid) {
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
}

TEST(WatchedExit, OfAProcessWhoseParentHasNotAsked) {
  const pid_t pid = child_that([] { _exit(7); });
  const WatchedExit exit(pid);
  wait_until_it_ends(pid);
  ASSERT_TRUE(exit.wait_status());
  EXPECT_EQ(exit_words(*exit.wait_status()), "exit 7");
  waitpid(pid, nullptr, 0);
  // Older kernels do not keep it.
  EXPECT_EQ(exit_words(exit.wait_status().value_or(7 << 8)), "exit 7");
}

TEST(WatchedExit, OfASignal) {
  const pid_t pid = child_that([] { pause(); });
  const WatchedExit exit(pid);
  EXPECT_FALSE(exit.wait_status());
  kill(pid, SIGKILL);
  wait_until_it_ends(pid);
  ASSERT_TRUE(exit.wait_status());
  EXPECT_EQ(exit_words(*exit.wait_status()), "signal 9");
  EXPECT_EQ(signal_name("signal 9"), "SIGKILL");
  EXPECT_EQ(signal_name("exit 9"), "");
  waitpid(pid, nullptr, 0);
}

TEST(WatchedExit, OfNoProcess) { EXPECT_FALSE(WatchedExit(0).wait_status()); }

}  // namespace
}  // namespace dcmt::recorder
