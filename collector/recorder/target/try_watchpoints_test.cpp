#include "collector/recorder/target/try_watchpoints.h"

#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string_view>

namespace dcmt::recorder {
namespace {

int open_files() {
  DIR* const folder = opendir("/proc/self/fd");
  int count = 0;
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

TEST(TryWatchpoints, LeavesNothingBehind) {
  struct sigaction before = {}, after = {};
  sigaction(SIGTRAP, nullptr, &before);
  const int files = open_files();
  const char* const why = why_no_watchpoints();
  EXPECT_STREQ(why, why_no_watchpoints());
  EXPECT_TRUE(why == nullptr || !std::string_view(why).empty());
  EXPECT_EQ(open_files(), files);
  sigaction(SIGTRAP, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

}  // namespace
}  // namespace dcmt::recorder
