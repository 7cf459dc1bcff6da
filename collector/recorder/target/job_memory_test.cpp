#include "collector/recorder/target/job_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "collector/recorder/testing/forked_child.h"
#include "trace/base/quantities.h"

namespace dcmt::recorder {
namespace {

using testing::Child;

const JobProcess* process_of(const JobMemory& job, pid_t pid) {
  const auto found = std::ranges::find(job.processes, pid, &JobProcess::pid);
  return found != job.processes.end() ? &*found : nullptr;
}

/// Writes to memory of its own.
void use(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) std::memset(memory, 1, bytes);
}

TEST(JobMemory, AllBelowTheFirstProcessAreTheJobAndThisOneIsTheRecorder) {
  const Child first([] { use(24 * kMiB); });
  const Child second([] { use(8 * kMiB); });
  const JobMemory job = read_job_memory({.recorded = {{second.pid(), 3}}, .first = first.pid()});
  const JobProcess* const one = process_of(job, first.pid());
  const JobProcess* const other = process_of(job, second.pid());
  const JobProcess* const own = process_of(job, getpid());
  ASSERT_TRUE(one != nullptr && other != nullptr && own != nullptr);
  EXPECT_EQ(one->role, JobRole::kChild);
  EXPECT_EQ(other->role, JobRole::kRecorded);
  EXPECT_EQ(other->rank, 3);
  EXPECT_EQ(own->role, JobRole::kRecorder);
  EXPECT_GE(one->memory.anonymous, 24 * kMiB);
  EXPECT_LT(one->memory.anonymous, one->memory.resident);
  EXPECT_GE(job.own(), 32 * kMiB);
  EXPECT_EQ(job.members.size(), 2U);
  // A member stays one, though nobody names it any more.
  const JobMemory later = read_job_memory({.members = job.members});
  EXPECT_NE(process_of(later, first.pid()), nullptr);
  EXPECT_NE(process_of(later, second.pid()), nullptr);
}

TEST(JobMemory, WhatHasEndedIsNotRead) {
  std::map<pid_t, std::uint64_t> members;
  {
    const Child child([] {});
    members = read_job_memory({.first = child.pid()}).members;
    EXPECT_EQ(members.size(), 1U);
  }
  EXPECT_TRUE(read_job_memory({.members = members}).members.empty());
}

}  // namespace
}  // namespace dcmt::recorder
