// What the watchpoints report is compared with what the test itself has written.
#include "collector/torch/state/watchpoints.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "collector/agent/provider.h"
#include "collector/agent/testing/test_spool.h"

namespace dcmt::torch_provider {
namespace {

struct Seen {
  std::atomic<int> writes;
  std::atomic<int> late;
  std::atomic<std::uint64_t> address;
};
Seen g_seen[kWatchpoints];

void note_write(int watchpoint, std::uint64_t address, const void*, bool late) noexcept {
  Seen& seen = g_seen[watchpoint];
  ++seen.writes;
  seen.late += late ? 1 : 0;
  seen.address = address;
}

class Watchpoints : public ::testing::Test {
 protected:
  void SetUp() override {
    for (Seen& seen : g_seen) {
      seen.writes = 0;
      seen.late = 0;
      seen.address = 0;
    }
    agent::test_spool();  // the objects of the program are published
    const agent::Inside inside;
    if (const char* why = make_watchpoints(note_write); why != nullptr) GTEST_SKIP() << why;
  }
  void TearDown() override { leave_watchpoints(); }

  static std::uint64_t address_of(const void* word) { return reinterpret_cast<std::uint64_t>(word); }

  std::atomic<std::uint64_t> words_[kWatchpoints] = {};
};

TEST_F(Watchpoints, EachWriteIsReportedOnce) {
  for (int i = 0; i < kWatchpoints; ++i) ASSERT_TRUE(set_watchpoint(i, address_of(&words_[i])));
  for (int i = 0; i < kWatchpoints; ++i) {
    for (int times = 0; times <= i; ++times) words_[i].fetch_add(1);
  }
  for (int i = 0; i < kWatchpoints; ++i) {
    EXPECT_EQ(g_seen[i].writes, i + 1);
    EXPECT_EQ(g_seen[i].address, address_of(&words_[i]));
    EXPECT_EQ(g_seen[i].late, 0);
  }
}

TEST_F(Watchpoints, ThreadsBeforeAndAfterAreFollowed) {
  ASSERT_TRUE(set_watchpoint(0, address_of(&words_[0])));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      std::thread([this] { words_[0].fetch_add(1); }).join();
      words_[0].fetch_add(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(g_seen[0].writes, 8);
}

TEST_F(Watchpoints, NothingIsReportedOnceTheyAreCleared) {
  ASSERT_TRUE(set_watchpoint(0, address_of(&words_[0])));
  ASSERT_TRUE(clear_watchpoint(0));
  words_[0].fetch_add(1);
  ASSERT_TRUE(set_watchpoint(0, address_of(&words_[1])));
  words_[0].fetch_add(1);
  words_[1].fetch_add(1);
  leave_watchpoints();
  words_[1].fetch_add(1);
  EXPECT_EQ(g_seen[0].writes, 1);
  struct sigaction now = {};
  ASSERT_EQ(sigaction(SIGTRAP, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST_F(Watchpoints, AForkedChildIsNotWatched) {
  ASSERT_TRUE(set_watchpoint(0, address_of(&words_[0])));
  const pid_t child = fork();
  if (child == 0) {
    words_[0].fetch_add(1);
    _exit(g_seen[0].writes);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  words_[0].fetch_add(1);
  EXPECT_EQ(g_seen[0].writes, 1);
}

TEST_F(Watchpoints, AThreadThatBlocksTheSignalIsLate) {
  ASSERT_TRUE(set_watchpoint(0, address_of(&words_[0])));
  sigset_t trap, before;
  sigemptyset(&trap);
  sigaddset(&trap, SIGTRAP);
  pthread_sigmask(SIG_BLOCK, &trap, &before);
  words_[0].fetch_add(1);
  words_[0].fetch_add(1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(g_seen[0].writes, 1);
  EXPECT_EQ(g_seen[0].late, 1);
}

TEST_F(Watchpoints, AnotherHandlerIsNotReplaced) {
  struct sigaction own = {}, ours = {};
  own.sa_handler = SIG_IGN;
  ASSERT_EQ(sigaction(SIGTRAP, &own, &ours), 0);
  EXPECT_FALSE(set_watchpoint(0, address_of(&words_[0])));
  words_[0].fetch_add(1);
  EXPECT_EQ(g_seen[0].writes, 0);
  leave_watchpoints();
  struct sigaction now = {};
  ASSERT_EQ(sigaction(SIGTRAP, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_IGN);
  own.sa_handler = SIG_DFL;
  sigaction(SIGTRAP, &own, nullptr);
}

}  // namespace
}  // namespace dcmt::torch_provider
