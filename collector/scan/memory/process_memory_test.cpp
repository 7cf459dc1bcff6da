#include "collector/scan/memory/process_memory.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dcmt::scan {
namespace {

TEST(ProcessMemoryTest, OfAProcessThatHasEndedItSaysSo) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(0);
  siginfo_t ended = {};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  const Expected<ProcessMemory> memory = ProcessMemory::open(child);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.error().message, "cannot inspect process " + std::to_string(child) + ": it has ended");
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const Expected<ProcessMemory> gone = ProcessMemory::open(child);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().message, "cannot inspect process " + std::to_string(child) + ": it does not exist");
}

}  // namespace
}  // namespace dcmt::scan
