#include "analyzer/model/job_view.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace dcmt::model {
namespace {

using analyzer::JobSample;
using analyzer::ProcessOfJob;
using analyzer::SharedOfJob;

bool is_tool(const ProcessOfJob& process) { return process.role == "recorder"; }

/// The job's processes, without this tool's, and without what has started it.
std::int64_t processes_in(const JobSample& sample) {
  return std::ranges::count_if(sample.processes,
                               [](const auto& each) { return !is_tool(each) && each.role != "around"; });
}

/// Sums over the job's processes, and over the recorder.
struct JobSums {
  std::int64_t anonymous = 0, file = 0, mapped_shared = 0;
  std::int64_t tool_anonymous = 0, tool_file = 0;
  std::int64_t segments = 0, spools = 0;
};

JobSums job_sums(const JobSample& sample) {
  JobSums sums;
  for (const ProcessOfJob& each : sample.processes) {
    (is_tool(each) ? sums.tool_anonymous : sums.anonymous) += each.anonymous.value;
    (is_tool(each) ? sums.tool_file : sums.file) += each.file.value;
    sums.mapped_shared += each.shared.value;
  }
  for (const SharedOfJob& each : sample.segments) {
    (each.kind == "recorder" ? sums.spools : sums.segments) += each.bytes.value;
  }
  return sums;
}

/// What the control group uses. Files that other groups have read first count there, so of files and shared memory the
/// group's figures count, not those of the processes.
void add_parts_of_group(const JobSample& sample, const JobSums& sums, JobMoment& moment) {
  const auto value = [](const std::optional<Bytes>& bytes) { return bytes.value_or(Bytes()).value; };
  const std::int64_t files = value(sample.file), shared = value(sample.shared);
  // The kernel counts mapped pages of both together, and does not say whose they are: this tool's own files, too.
  const std::int64_t of_files = value(sample.mapped) - std::min(shared, sums.mapped_shared);
  const std::int64_t mapped = std::clamp<std::int64_t>(of_files, 0, files);
  const std::int64_t spools = std::min(shared, sums.spools);
  moment.parts = {{"anonymous", Bytes(sums.anonymous)},    {"shared", Bytes(shared - spools)},
                  {"mapped_files", Bytes(mapped)},         {"page_cache", Bytes(files - mapped)},
                  {"kernel", Bytes(value(sample.kernel))}, {"recorder", Bytes(sums.tool_anonymous + spools)}};
  moment.bytes = *sample.used;
  moment.needed = Bytes(sample.used->value - moment.part("page_cache").value);
}

void add_parts_of_processes(const JobSums& sums, JobMoment& moment) {
  const std::int64_t tool = sums.tool_anonymous + sums.tool_file + sums.spools;
  // Shared memory that is mapped, and of which no segment was found.
  const std::int64_t rest = std::max<std::int64_t>(0, sums.mapped_shared - sums.segments - sums.spools);
  moment.parts = {{"anonymous", Bytes(sums.anonymous)},
                  {"shared", Bytes(sums.segments)},
                  {"mapped_files", Bytes(sums.file)},
                  {"recorder", Bytes(tool)}};
  moment.bytes = Bytes(sums.anonymous + sums.file + sums.segments + tool + rest);
  moment.needed = moment.bytes;
}

std::vector<JobProcessGroup> processes_of(const JobSample& sample) {
  std::vector<JobProcessGroup> groups;
  for (const ProcessOfJob& each : sample.processes) {
    JobProcessGroup one;
    one.name = each.name;
    one.role = each.role;
    one.rank = each.rank;
    one.pid = each.pid;
    one.processes = 1;
    if (each.role == "forked") {
      one.parent = each.parent;
      const auto parent = std::ranges::find(sample.processes, each.parent, &ProcessOfJob::pid);
      if (parent != sample.processes.end()) one.rank = parent->rank;
    }
    one.anonymous = each.anonymous;
    one.file = each.file;
    one.shared = each.shared;
    one.swapped = each.swapped;
    one.largest = each.resident;
    // Forked ones with one name do the same work.
    const auto alike = std::ranges::find_if(groups, [&](const JobProcessGroup& group) {
      return each.role == "forked" && group.role == each.role && group.parent == one.parent && group.name == one.name;
    });
    if (alike == groups.end()) {
      groups.push_back(std::move(one));
      continue;
    }
    alike->pid.reset();
    ++alike->processes;
    for (Bytes JobProcessGroup::*sum :
         {&JobProcessGroup::anonymous, &JobProcessGroup::file, &JobProcessGroup::shared, &JobProcessGroup::swapped}) {
      (*alike).*sum = Bytes(((*alike).*sum).value + (one.*sum).value);
    }
    alike->largest = std::max(alike->largest, one.largest);
  }
  std::ranges::stable_sort(groups, std::greater(), &JobProcessGroup::all);
  return groups;
}

std::vector<JobShared> shared_of(const JobSample& sample) {
  std::vector<JobShared> result;
  for (const SharedOfJob& each : sample.segments) {
    JobShared shared{each.kind, each.name, {}, each.pid, each.segments, each.bytes};
    const auto owner =
        std::ranges::find_if(sample.processes, [&](const auto& process) { return process.pid == each.pid; });
    if (owner != sample.processes.end()) {
      shared.owner = owner->rank ? "rank " + std::to_string(*owner->rank) : owner->name;
    }
    result.push_back(std::move(shared));
  }
  return result;
}

JobMoment job_moment(const JobSample& sample, TimeNs begin) {
  JobMoment moment;
  moment.ns = TimeNs(sample.ns.value - begin.value);
  moment.of_group = sample.used.has_value();
  moment.changed = sample.changed;
  moment.count = processes_in(sample);
  const JobSums sums = job_sums(sample);
  if (moment.of_group) {
    add_parts_of_group(sample, sums, moment);
  } else {
    add_parts_of_processes(sums, moment);
  }
  std::int64_t explained = 0;
  for (const JobPart& each : moment.parts) explained += each.bytes.value;
  moment.parts.push_back({"unexplained", Bytes(moment.bytes.value - explained)});
  moment.processes = processes_of(sample);
  moment.shared = shared_of(sample);
  return moment;
}

bool has_pid(const std::vector<JobProcessGroup>& processes, std::int64_t pid) {
  return std::ranges::any_of(processes, [pid](const JobProcessGroup& each) { return each.pid == pid; });
}

JobPinned pinned_at(const JobOfTrace& trace, TimeNs at) {
  JobPinned pinned{trace.rank, trace.history.pid, {}, {}, {}};
  std::map<std::int64_t, std::int64_t> kept;  // bytes by address, the latest ones
  for (const analyzer::PinnedBlock& block : trace.pinned) {
    if (block.span.from_ns > at) continue;
    kept[block.address] = block.bytes.value;
    if (block.span.ended() && block.span.to_ns <= at) continue;
    pinned.used = Bytes(pinned.used.value + block.bytes.value);
    pinned.asked = Bytes(pinned.asked.value + std::min(block.asked.value_or(block.bytes), block.bytes).value);
  }
  for (const auto& [address, bytes] : kept) pinned.kept = Bytes(pinned.kept.value + bytes);
  return pinned;
}

/// The last sample of each GPU until then.
void add_gpus(const JobOfTrace& trace, TimeNs at, std::vector<JobGpu>& gpus) {
  const analyzer::GpuMemory* latest = nullptr;
  const auto add = [&] {
    if (latest == nullptr) return;
    const Bytes used = latest->process.value_or(latest->used);
    JobGpu gpu{trace.rank, trace.history.pid, "cuda:" + std::to_string(latest->gpu), used, latest->reserved, {}};
    if (used >= latest->reserved) gpu.outside = Bytes(used.value - latest->reserved.value);
    gpus.push_back(std::move(gpu));
    latest = nullptr;
  };
  for (const analyzer::GpuMemory& sample : trace.gpus) {
    if (latest != nullptr && latest->gpu != sample.gpu) add();
    if (sample.ns <= at) latest = &sample;
  }
  add();
}

}  // namespace

Bytes JobMoment::own() const { return Bytes(needed.value - part("mapped_files").value - part("recorder").value); }

Bytes JobMoment::part(std::string_view name) const {
  const auto found = std::ranges::find(parts, name, &JobPart::name);
  return found != parts.end() ? found->bytes : Bytes();
}

bool job_has_several(const analyzer::JobHistory& history) {
  return std::ranges::any_of(history.samples, [](const JobSample& each) { return processes_in(each) > 1; });
}

std::optional<JobMoment> job_peak(const analyzer::JobHistory& history) {
  std::optional<JobMoment> peak;
  for (const JobSample& each : history.samples) {
    JobMoment moment = job_moment(each, history.begin);
    if (!peak || moment.own() >= peak->own()) peak = std::move(moment);
  }
  return peak;
}

Expected<JobOfTrace> JobOfTrace::load(const std::string& path, std::int64_t rank, Database& database) {
  JobOfTrace of;
  of.path = path;
  of.rank = rank;
  DCMT_ASSIGN_OR_RETURN(of.history, analyzer::JobHistory::load(database));
  DCMT_ASSIGN_OR_RETURN(of.pinned, analyzer::PinnedBlock::load(database));
  DCMT_ASSIGN_OR_RETURN(of.gpus, analyzer::GpuMemory::load(database));
  return of;
}

std::vector<JobView> job_views(const std::vector<JobOfTrace>& traces) {
  struct Job {
    const JobOfTrace* first;
    analyzer::JobHistory history;
  };
  std::vector<Job> jobs;
  for (const JobOfTrace& trace : traces) {
    if (trace.history.samples.empty()) continue;
    const JobSample& first = trace.history.samples.front();
    const auto known = std::ranges::find_if(jobs, [&](const Job& each) {
      const JobSample& sample = each.history.samples.front();
      return sample.pid == first.pid && sample.start == first.start;
    });
    if (known != jobs.end()) {
      known->history.add(trace.history);
    } else {
      jobs.push_back({&trace, trace.history});
    }
  }
  std::vector<JobView> views;
  for (const Job& job : jobs) {
    JobView view{job.first->path,
                 static_cast<std::int64_t>(job.history.samples.size()),
                 job_peak(job.history),
                 job_moment(job.history.samples.back(), job.history.begin),
                 {},
                 {}};
    const TimeNs at(view.peak->ns.value + job.history.begin.value);
    for (const JobOfTrace& trace : traces) {
      if (!has_pid(view.peak->processes, trace.history.pid)) continue;
      if (!trace.pinned.empty()) view.pinned.push_back(pinned_at(trace, at));
      add_gpus(trace, at, view.gpus);
    }
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace dcmt::model
