#include "collector/recorder/target/current_environment.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dcmt::recorder {
namespace {

TEST(CurrentEnvironment, VariablesOfTheAllocatorAreAsTheyAreNow) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    clearenv();
    setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64", 1);
    setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", 1);
    setenv("PYTORCH_CUDA_ALLOC_CONFIG", "max_split_size_mb:64", 1);
    setenv("ALLOCATOR", "1", 1);
    (void)!write(ready[1], "x", 1);
    for (;;) pause();
  }
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(allocator_variables(child),
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True;PYTORCH_CUDA_ALLOC_CONFIG=max_split_size_mb:64");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  EXPECT_EQ(allocator_variables(0), "");
}

TEST(CurrentEnvironment, AProgramMayHaveACopyOfTheVariable) {
  constexpr char kPython[] = "/usr/bin/python3";
  if (access(kPython, X_OK) != 0) GTEST_SKIP() << "this system has no Python of its own";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ready[1], STDOUT_FILENO);
    execl(kPython, kPython, "-ISc",
          "import os, time; os.environ['PYTORCH_ALLOC_CONF'] = 'a:1'; os.write(1, b'x'); time.sleep(60)", nullptr);
    _exit(127);
  }
  close(ready[1]);
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(allocator_variables(child), "PYTORCH_ALLOC_CONF=a:1");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
}

}  // namespace
}  // namespace dcmt::recorder
