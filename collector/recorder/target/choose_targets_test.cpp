#include "collector/recorder/target/choose_targets.h"

#include <gtest/gtest.h>

namespace dcmt::recorder {
namespace {

using Pids = std::vector<pid_t>;

TargetProcess target(pid_t pid, std::vector<std::string> command, const std::string& launch = "", int rank = -1) {
  TargetProcess process;
  process.pid = pid;
  process.name = "python";
  process.command = std::move(command);
  process.launch.name = launch;
  process.launch.rank = rank;
  return process;
}

// These pids belong to no process.
const std::vector<TargetProcess> kThere{
    target(9'000'001, {"/usr/bin/python3", "-u", "/home/x/train.py", "--steps", "3"}, "RANK a", 1),
    target(9'000'002, {"python", "train.py"}, "RANK a", 0),
    target(9'000'003, {"python", "-m", "package.evaluate"}),
    target(9'000'004, {"python", "other.py"}, "RANK b", 0),
};

TEST(ChooseTargets, ByName) {
  EXPECT_TRUE(has_name(kThere[0], "train.py"));
  EXPECT_TRUE(has_name(kThere[0], "tr*"));
  EXPECT_TRUE(has_name(kThere[0], "train"));
  EXPECT_TRUE(has_name(kThere[0], "python3"));
  EXPECT_TRUE(has_name(kThere[0], "*/x/train.py"));
  EXPECT_TRUE(has_name(kThere[2], "package.*"));
  EXPECT_FALSE(has_name(kThere[0], "--steps"));
  EXPECT_FALSE(has_name(kThere[0], "3"));
  EXPECT_FALSE(has_name(kThere[0], "rain.py"));
  const auto one = choose_among(kThere, {0, "*evaluate", false});
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(*one, Pids{9'000'003});
}

TEST(ChooseTargets, AllRanksOfALaunchByRank) {
  const Pids both{9'000'002, 9'000'001};
  EXPECT_EQ(*choose_among(kThere, {0, "train.py", true}), both);
  EXPECT_EQ(*choose_among(kThere, {9'000'001, "", true}), both);
  EXPECT_EQ(*choose_among({kThere[0], kThere[1], kThere[2]}, {0, "", true}), both);
}

std::string refused(const TargetChoice& choice) {
  const auto chosen = choose_among(kThere, choice);
  return chosen.ok() ? "" : chosen.error().message;
}

TEST(ChooseTargets, WhatIsNotClearIsSaid) {
  EXPECT_EQ(refused({0, "train.py", false}),
            "2 processes with torch are called train.py: 9000001 (rank 1), 9000002 (rank 0); give one by its pid, or "
            "--all-ranks");
  EXPECT_EQ(
      refused({0, "absent", false}),
      "there is no process with torch called absent; one that has not imported torch yet is named by its pid, with "
      "--wait");
  EXPECT_EQ(refused({0, "absent", false, true}),
            "there is no process in standby called absent; dc-memtrace status lists those that there are");
  EXPECT_NE(refused({0, "", true}).find("there are ranks of 2 launches with torch"), std::string::npos);
  EXPECT_NE(refused({9'000'003, "", true}).find("is no rank of a launch"), std::string::npos);
  EXPECT_FALSE(choose_among({}, {0, "", true}).ok());
}

}  // namespace
}  // namespace dcmt::recorder
