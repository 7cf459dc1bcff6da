#include "collector/recorder/target/job_memory.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "collector/agent/clock.h"
#include "collector/recorder/target/process_table.h"

namespace dcmt::recorder {
namespace {

/// Of more processes, the oldest.
constexpr std::size_t kMostOfJob = 1024;

/// The processes that have started a process, by their parents.
std::set<pid_t> ancestors_of(pid_t pid, const std::vector<ProcessEntry>& processes) {
  std::set<pid_t> ancestors;
  for (;;) {
    const auto own = std::ranges::find(processes, pid, &ProcessEntry::pid);
    if (own == processes.end() || !ancestors.insert(own->parent).second) return ancestors;
    pid = own->parent;
  }
}

/// The job's processes: those that are recorded, those that were its members before, and what these have started.
std::set<pid_t> members_of(const JobQuestion& question, const std::vector<ProcessEntry>& processes) {
  std::set<pid_t> known;
  for (const ProcessEntry& each : processes) {
    const auto before = question.members.find(each.pid);
    const bool was_member = before != question.members.end() && before->second == each.start;
    if (was_member || each.pid == question.first || question.recorded.contains(each.pid)) known.insert(each.pid);
  }
  std::set<pid_t> members = with_descendants(std::move(known), processes);
  members.erase(getpid());
  return members;
}

/// This process, and what it has started beside the job.
std::set<pid_t> own_processes(const std::set<pid_t>& members, const std::vector<ProcessEntry>& processes) {
  std::set<pid_t> own = with_descendants({getpid()}, processes);
  std::erase_if(own, [&](pid_t each) { return members.contains(each); });
  return own;
}

JobRole role_of(const ProcessEntry& process, const JobQuestion& question, const std::set<pid_t>& members,
                const std::set<pid_t>& own, const std::vector<ProcessEntry>& processes) {
  if (own.contains(process.pid)) return JobRole::kRecorder;
  if (!members.contains(process.pid)) return JobRole::kAround;
  if (question.recorded.contains(process.pid)) return JobRole::kRecorded;
  const auto parent = std::ranges::find(processes, process.parent, &ProcessEntry::pid);
  const bool is_forked = parent != processes.end() && members.contains(parent->pid) && process.stack != 0 &&
                         process.stack == parent->stack;
  return is_forked ? JobRole::kForked : JobRole::kChild;
}

}  // namespace

std::string_view name_of(JobRole role) {
  constexpr std::array<std::string_view, 5> kNames = {"recorded", "forked", "child", "recorder", "around"};
  return kNames[static_cast<std::size_t>(role)];
}

std::int64_t JobMemory::own() const {
  std::int64_t bytes = 0, tool = 0;
  for (const JobProcess& each : processes) {
    if (each.role == JobRole::kAround) continue;
    (each.role == JobRole::kRecorder ? tool : bytes) += each.memory.anonymous;
  }
  for (const SharedSegments& each : segments) {
    (each.kind == SegmentKind::kRecorder ? tool : bytes) += each.bytes;
  }
  return group ? group->used - group->file - tool : bytes;
}

JobMemory read_job_memory(const JobQuestion& question) {
  const double begin = agent::thread_cpu_seconds();
  JobMemory job;
  job.ns = static_cast<std::int64_t>(agent::nanoseconds(CLOCK_MONOTONIC));
  std::vector<ProcessEntry> processes = all_processes();
  std::ranges::sort(processes, {}, &ProcessEntry::start);
  const std::set<pid_t> members = members_of(question, processes);
  const std::set<pid_t> own = own_processes(members, processes);
  const CgroupMemory group = CgroupMemory::around(members);
  const std::set<pid_t> in_group = group.processes();
  const std::set<pid_t> ancestors = ancestors_of(getpid(), processes);
  const bool is_own = !in_group.empty() && std::ranges::all_of(in_group, [&](pid_t each) {
    return own.contains(each) || members.contains(each) || ancestors.contains(each);
  });
  const std::optional<CgroupUse> before = is_own ? group.use() : std::nullopt;

  std::vector<pid_t> read;
  for (ProcessEntry& each : processes) {
    const bool is_member = members.contains(each.pid);
    // Outside of the job's group, the recorder's memory is none of its figure.
    const bool is_counted = is_member || (is_own ? in_group.contains(each.pid) : own.contains(each.pid));
    if (is_member) job.members[each.pid] = each.start;
    if (!is_counted || each.leaves || job.processes.size() == kMostOfJob) continue;
    const std::optional<SharedMemory> memory = shared_memory(each.pid);
    if (!memory) continue;
    read.push_back(each.pid);
    const JobRole role = role_of(each, question, members, own, processes);
    const auto recorded = question.recorded.find(each.pid);
    const std::int32_t rank = recorded != question.recorded.end() ? recorded->second : -1;
    job.processes.push_back({each.pid, each.parent, each.start, std::move(each.name), role, rank, *memory});
  }
  job.segments = shared_segments(read, question.ended, question.since_ns);
  if (before) job.group = group.use();
  if (job.group) job.changed = std::abs(job.group->used - before->used);
  job.cpu_seconds = agent::thread_cpu_seconds() - begin;
  return job;
}

}  // namespace dcmt::recorder
