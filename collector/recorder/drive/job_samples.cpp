#include "collector/recorder/drive/job_samples.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

#include "collector/agent/clock.h"
#include "collector/recorder/process/own_clock.h"
#include "collector/recorder/target/kernel_memory.h"

namespace dcmt::recorder {
namespace {

/// Time between two samples: in seconds, and as a share of the run.
constexpr double kBetweenJobs = 1, kBetweenJobsShare = 1.0 / 100;
/// While the job has more than ever, it is sampled after this time, and if it has so much more: bytes, and as a share.
constexpr double kWhileGrowing = 0.1;
constexpr std::int64_t kGrownJob = std::int64_t{8} << 20;
constexpr double kGrownJobShare = 0.02;
/// The figure that costs little is read at most so often, and costs at most this share of a processor.
constexpr double kBetweenFigures = 0.1, kShareForFigures = 0.005;
/// How long a trace that could be finished waits for a sample. Nobody waits for the thread that reads.
constexpr auto kPatience = std::chrono::milliseconds(50);
/// Processor time for samples: in seconds, and as a share of the run's time.
constexpr double kFreeForJobs = 0.5, kShareForJobs = 0.005;

}  // namespace

void JobSchedule::figure_read(double now, double took) {
  next_figure_ = now + std::max(kBetweenFigures, took / kShareForFigures);
}

bool JobSchedule::is_due(double now, std::int64_t figure) const {
  if (latest_ < 0) return true;
  if (spent_ + took_ > kFreeForJobs + kShareForJobs * now) return false;
  const double worth = std::max(static_cast<double>(kGrownJob), kGrownJobShare * static_cast<double>(highest_));
  const bool is_higher = static_cast<double>(figure - highest_) >= worth;
  const double between = std::max(kBetweenJobs, kBetweenJobsShare * now);
  return now >= latest_ + (is_higher ? kWhileGrowing : between);
}

void JobSchedule::begins(double now, std::int64_t figure) {
  latest_ = now;
  highest_ = std::max(highest_, figure);
}

void JobSchedule::ended(double took) {
  spent_ += took;
  took_ = took;
}

double JobSamples::seconds() {
  if (!began_ns_) {
    began_ns_ = now_ns();
    question_.since_ns = static_cast<std::int64_t>(agent::nanoseconds(CLOCK_REALTIME));
  }
  return static_cast<double>(now_ns() - *began_ns_) * 1e-9;
}

/// Pages that processes share count for each of them: it only says whether there is more.
std::int64_t JobSamples::figure() const {
  std::int64_t bytes = 0;
  const auto add = [&](pid_t pid) {
    if (const auto memory = kernel_memory(pid)) bytes += memory->resident;
  };
  for (const auto& [pid, start] : question_.members) add(pid);
  for (const auto& [pid, rank] : question_.recorded) {
    if (!question_.members.contains(pid)) add(pid);
  }
  return bytes;
}

Status JobSamples::poll(const std::vector<JobMember>& live) {
  const auto is_home = [this](const JobMember& each) { return each.recorder == home_; };
  if (std::ranges::none_of(live, is_home)) home_ = nullptr;  // its trace was given up
  if (reading_.valid() && reading_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
    DCMT_RETURN_IF_ERROR(keep(reading_.get()));
  }
  if (live.empty()) return {};
  if (home_ == nullptr) {
    const auto first = std::ranges::find_if(live, [](const JobMember& each) { return each.recorder->has_content(); });
    if (first != live.end()) {
      home_ = first->recorder;
      DCMT_RETURN_IF_ERROR(write_kept());
    }
  }
  const double now = seconds();
  if (reading_.valid() || !schedule_.figure_is_due(now)) return {};
  question_.recorded.clear();
  for (const JobMember& each : live) {
    if (each.pid != 0) question_.recorded[each.pid] = each.recorder->rank();
  }
  const std::int64_t bytes = figure();
  schedule_.figure_read(now, seconds() - now);
  if (!schedule_.is_due(now, bytes)) return {};
  schedule_.begins(now, bytes);
  std::packaged_task<JobMemory()> task([question = question_] { return read_job_memory(question); });
  std::future<JobMemory> reading = task.get_future();
  try {
    std::thread(std::move(task)).detach();
    reading_ = std::move(reading);
  } catch (const std::system_error&) {  // no thread: the next time
  }
  return {};
}

Status JobSamples::process_ends(const JobMember& process) {
  if (process.recorder != home_ && (home_ != nullptr || !process.recorder->has_content())) return {};
  if (home_ == nullptr) {
    home_ = process.recorder;
    DCMT_RETURN_IF_ERROR(write_kept());
  }
  if (reading_.valid() && reading_.wait_for(kPatience) == std::future_status::ready) {
    DCMT_RETURN_IF_ERROR(keep(reading_.get()));
  }
  home_ = nullptr;
  return {};
}

Status JobSamples::keep(JobMemory memory) {
  schedule_.ended(memory.cpu_seconds);
  for (const auto& [pid, start] : question_.members) {
    if (!memory.members.contains(pid)) question_.ended.insert(pid);
  }
  question_.members = memory.members;
  const auto is_of_job = [](const JobProcess& each) {
    return each.role != JobRole::kRecorder && each.role != JobRole::kAround;
  };
  if (std::ranges::none_of(memory.processes, is_of_job)) return {};  // it has just ended
  latest_ = {++latest_id_, std::move(memory)};
  if (!highest_ || latest_->second.own() >= highest_->second.own()) highest_ = latest_;
  return home_ != nullptr ? write(*home_, *latest_) : Status();
}

Status JobSamples::write_kept() {
  if (highest_) DCMT_RETURN_IF_ERROR(write(*home_, *highest_));
  return latest_ && latest_->first != highest_->first ? write(*home_, *latest_) : Status();
}

Status JobSamples::write(ProcessRecorder& recorder, const std::pair<RowId, JobMemory>& sample) {
  return recorder.add_job(sample.first, sample.second, question_);
}

}  // namespace dcmt::recorder
