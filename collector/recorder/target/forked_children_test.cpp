#include "collector/recorder/target/forked_children.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "collector/recorder/target/resident_memory.h"
#include "collector/recorder/testing/forked_child.h"
#include "trace/base/quantities.h"

namespace dcmt::recorder {
namespace {

using testing::Child;

TEST(ForkedChildren, WhatAChildWritesIsItsAlone) {
  constexpr std::size_t kBytes = 32 * kMiB;
  void* const shared = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  memset(shared, 1, kBytes);
  const Child reads([] {});
  const Child writes([&] { memset(shared, 2, kBytes / 2); });
  const std::vector<ForkedChild> children = forked_children(getpid());
  for (const Child* each : {&reads, &writes}) {
    EXPECT_EQ(std::ranges::count(children, each->pid(), &ForkedChild::pid), 1);
    ASSERT_TRUE(shared_memory(each->pid()));
    EXPECT_GE(shared_memory(each->pid())->resident, static_cast<std::int64_t>(kBytes));
  }
  const std::int64_t more = shared_memory(writes.pid())->unshared - shared_memory(reads.pid())->unshared;
  EXPECT_NEAR(static_cast<double>(more), kBytes / 2.0, 1.0 * kMiB);
  munmap(shared, kBytes);
}

TEST(ForkedChildren, AnotherProgramIsNoForkedChild) {
  const pid_t pid = fork();
  if (pid == 0) {
    execlp("sleep", "sleep", "60", nullptr);
    _exit(1);
  }
  const auto is_forked = [&] { return std::ranges::count(forked_children(getpid()), pid, &ForkedChild::pid) == 1; };
  for (int i = 0; i < 1000 && is_forked(); ++i) usleep(10'000);  // until it is another program
  EXPECT_FALSE(is_forked());
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

TEST(ForkedChildren, AChildOfAChildCounts) {
  pid_t* const inner =
      static_cast<pid_t*>(mmap(nullptr, sizeof(pid_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  {
    const Child outer([&] {
      const pid_t pid = fork();
      if (pid == 0) {
        for (;;) pause();
      }
      *inner = pid;
    });
    const std::vector<ForkedChild> children = forked_children(getpid());
    EXPECT_EQ(std::ranges::count(children, *inner, &ForkedChild::pid), 1);
    EXPECT_EQ(std::ranges::count(children, outer.pid(), &ForkedChild::pid), 1);
    EXPECT_EQ(std::ranges::count(children, getpid(), &ForkedChild::pid), 0);
    ASSERT_GT(*inner, 1);
    kill(*inner, SIGKILL);
  }
  munmap(inner, sizeof(pid_t));
}

}  // namespace
}  // namespace dcmt::recorder
