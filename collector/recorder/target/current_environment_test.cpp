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

}  // namespace
}  // namespace dcmt::recorder
