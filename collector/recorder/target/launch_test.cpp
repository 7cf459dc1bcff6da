#include "collector/recorder/target/launch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <initializer_list>
#include <utility>

namespace dcmt::recorder {
namespace {

class LaunchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR",
                             "MASTER_PORT", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE",
                             "PMIX_RANK", "OMPI_MCA_ess_base_jobid", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID",
                             "SLURM_NTASKS", "SLURM_STEP_ID", "SLURM_JOB_ID", "SLURM_RESTART_COUNT"}) {
      unsetenv(name);
    }
  }
};

void set(std::initializer_list<std::pair<const char*, const char*>> variables) {
  for (const auto& [name, value] : variables) setenv(name, value, 1);
}

TEST_F(LaunchTest, NothingStartedUs) {
  EXPECT_TRUE(launch_of_environment().name.empty());
  // A batch script is not a step.
  set({{"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "7"}});
  EXPECT_TRUE(launch_of_environment().name.empty());
  // A rank alone does not identify the launcher.
  set({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  EXPECT_TRUE(launch_of_environment().name.empty());
}

TEST_F(LaunchTest, TheInnermostCounts) {
  set({{"SLURM_PROCID", "4"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_ID", "0"}, {"SLURM_JOB_ID", "7"}});
  EXPECT_EQ(launch_of_environment().rank, 4);
  EXPECT_EQ(launch_of_environment().world_size, 8);
  set({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "3"}, {"PMIX_NAMESPACE", "x"}});
  EXPECT_EQ(launch_of_environment().rank, 2);
  set({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "none"}, {"TORCHELASTIC_RESTART_COUNT", "3"}});
  EXPECT_EQ(launch_of_environment().rank, 1);
  EXPECT_EQ(launch_of_environment().member, "1.3");
}

TEST_F(LaunchTest, RanksOfDeepSpeedHaveAPortInCommon) {
  set({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "29500"}});
  EXPECT_EQ(launch_of_environment().name, "RANK 29500 127.0.0.1");
  EXPECT_EQ(launch_of_environment().rank, 1);
  EXPECT_EQ(launch_of_environment().world_size, 2);
  // A program that has only itself sets the same variables.
  set({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  EXPECT_TRUE(launch_of_environment().name.empty());
}

TEST_F(LaunchTest, ABatchJobCanBeStartedAgain) {
  EXPECT_EQ(launch_of_environment().job, "");
  set({{"SLURM_JOB_ID", "7"}});
  EXPECT_EQ(launch_of_environment().job, "SLURM_JOB_ID 7");
  EXPECT_EQ(launch_of_environment().restart, "");
  EXPECT_TRUE(launch_of_environment().name.empty());
  set({{"SLURM_RESTART_COUNT", "1"}, {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "none"}});
  EXPECT_EQ(launch_of_environment().job, "SLURM_JOB_ID 7");
  EXPECT_EQ(launch_of_environment().restart, "1");
  EXPECT_EQ(launch_of_environment().rank, 1);
}

TEST_F(LaunchTest, ARankIsANumber) {
  set({{"PMI_RANK", "first"}, {"PMI_SIZE", "2"}});
  EXPECT_TRUE(launch_of_environment().name.empty());
}

TEST_F(LaunchTest, OfAnotherProcessByTheEnvironmentThatItWasStartedWith) {
  const pid_t child = fork();
  if (child == 0) {
    execle("/bin/sleep", "sleep", "60", nullptr,
           (std::array<const char*, 4>{"PMI_RANK=1", "PMI_SIZE=2", "EMPTY=", nullptr}).data());
    _exit(1);
  }
  // Wait until it has become the other program.
  Launch launch;
  for (int i = 0; i < 6'000 && launch.rank < 0; ++i) {
    launch = launch_of_process(child);
    usleep(10'000);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(launch.name, "PMI_RANK 2");
  EXPECT_EQ(launch.world_size, 2);
  EXPECT_TRUE(launch_of_process(child).name.empty());
}

}  // namespace
}  // namespace dcmt::recorder
