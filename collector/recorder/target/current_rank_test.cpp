#include "collector/recorder/target/current_rank.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace dcmt::recorder {
namespace {

/// A child that has changed its environment as `change` says, and waits.
template <class Change>
std::optional<CurrentRank> rank_of_child(const Change& change) {
  int ready[2];
  EXPECT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    unsetenv("RANK");
    unsetenv("WORLD_SIZE");
    unsetenv("LOCAL_RANK");
    unsetenv("NODE_RANK");
    change();
    (void)!write(ready[1], "x", 1);
    for (;;) pause();
  }
  char byte = 0;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  const std::optional<CurrentRank> rank = current_rank(child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  return rank;
}

TEST(CurrentRank, IsWhatTheProcessHasSetSinceItsStart) {
  const auto rank = rank_of_child([] {
    setenv("RANK", "0", 1);
    setenv("RANK", "3", 1);
    setenv("WORLD_SIZE", "8", 1);
    setenv("LOCAL_RANK", "1", 1);
  });
  ASSERT_TRUE(rank.has_value());
  EXPECT_EQ(rank->rank, 3);
  EXPECT_EQ(rank->world_size, 8);
}

TEST(CurrentRank, IsNoneWithoutARankThatIsANumber) {
  EXPECT_FALSE(rank_of_child([] { setenv("WORLD_SIZE", "8", 1); }).has_value());
  EXPECT_FALSE(rank_of_child([] { setenv("RANK", "-1", 1); }).has_value());
  EXPECT_FALSE(rank_of_child([] { setenv("RANK", "first", 1); }).has_value());
  EXPECT_FALSE(rank_of_child([] { setenv("RANK", std::string(100, '1').c_str(), 1); }).has_value());
  EXPECT_FALSE(rank_of_child([] { clearenv(); }).has_value());
  EXPECT_FALSE(current_rank(0).has_value());
}

TEST(CurrentRank, OnTheFirstNodeItIsTheNumberInTheNode) {
  const auto of_node = [](const char* node, const char* size) {
    return rank_of_child([=] {
      setenv("LOCAL_RANK", "1", 1);
      setenv("NODE_RANK", node, 1);
      if (size != nullptr) setenv("WORLD_SIZE", size, 1);
    });
  };
  ASSERT_TRUE(of_node("0", "2").has_value());
  EXPECT_EQ(of_node("0", "2")->rank, 1);
  EXPECT_FALSE(of_node("1", "4").has_value()) << "the number of processes of a node is not known";
  EXPECT_FALSE(of_node("0", nullptr).has_value());
}

TEST(CurrentRank, WithoutASizeThereIsARank) {
  const auto rank = rank_of_child([] { setenv("RANK", "2", 1); });
  ASSERT_TRUE(rank.has_value());
  EXPECT_EQ(rank->world_size, -1);
}

}  // namespace
}  // namespace dcmt::recorder
