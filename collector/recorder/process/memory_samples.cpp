#include "collector/recorder/process/memory_samples.h"

#include <algorithm>
#include <utility>

#include "collector/agent/clock.h"
#include "collector/recorder/process/own_clock.h"
#include "collector/scan/memory/process_memory.h"
#include "collector/scan/native/malloc_holes.h"
#include "trace/sql/meta_keys.h"

namespace dcmt::recorder {
namespace {

/// Time between two samples, in seconds and as a share of the run, so that a long run has some thousand rows.
constexpr double kBetweenSamples = 0.01, kBetweenSamplesShare = 1.0 / 500;
/// A program without steps, or within a long step, is sampled after this time.
constexpr double kWithoutStep = 10;
/// Share of the run's time for reading the classes, and extra time for short runs.
constexpr double kClassesShare = 0.002, kClassesFree = 0.2;
/// The first steps make what a program keeps.
constexpr std::int64_t kWarmUp = 3;
/// Growth since the latest reading of the classes that is worth another one: bytes, and as a share.
constexpr std::int64_t kGrown = std::int64_t{16} << 20;
constexpr double kGrownShare = 0.25;

/// Use of a control group, as a share of its limit, at which the kernel may kill soon.
constexpr double kNearLimit = 0.9;
/// Growth that is worth another reading of variables: they may hold it.
constexpr std::int64_t kWorthReading = std::int64_t{8} << 20;
/// Larger heaps would need too much time.
constexpr std::uint64_t kLargestHeaps = std::uint64_t{256} << 20;

std::optional<std::int64_t> free_of_malloc(pid_t pid) {
  Expected<scan::ProcessMemory> memory = scan::ProcessMemory::open(pid);
  return memory.ok() ? scan::free_bytes_of_malloc(*memory, kLargestHeaps) : std::nullopt;
}

}  // namespace

bool SampleSchedule::is_due(double now, std::int64_t steps) const {
  if (latest_ < 0) return true;
  const double between = std::max(kBetweenSamples, kBetweenSamplesShare * now);
  return now >= latest_ + (steps != steps_ ? between : kWithoutStep * between);
}

void SampleSchedule::sampled(double now, std::int64_t steps) {
  latest_ = now;
  steps_ = steps;
}

bool SampleSchedule::classes_are_due(double now, std::int64_t steps, OutsideThen outside) const {
  // A program that is killed in its first steps, or has none, needs a reading, too.
  if (steps < kWarmUp && (now < 1 || now < next_classes_)) return false;
  if (spent_ + took_ > kClassesFree + kClassesShare * now) return false;
  if ((steps >= kWarmUp && !has_read_classes_) || now >= next_classes_) return true;
  if (outside.grown >= std::max(kGrown, 2 * outside_.grown)) return true;
  const double worth = std::max(static_cast<double>(kGrown), kGrownShare * static_cast<double>(outside_.bytes));
  return static_cast<double>(outside.bytes - outside_.bytes) >= worth;
}

void SampleSchedule::classes_read(double now, std::int64_t steps, double took, OutsideThen outside) {
  has_read_classes_ = steps >= kWarmUp;
  spent_ += took;
  took_ = took;
  outside_ = outside;
  next_classes_ = std::max(1.0, 2 * now);
}

void OutsideWatch::see(std::int64_t outside) {
  if (seen_ < kSamples) highest_at_first_ = std::max(highest_at_first_, outside);
  latest_[seen_++ % kSamples] = outside;
}

std::int64_t OutsideWatch::grown() const {
  if (seen_ < 2 * kSamples) return 0;
  const std::int64_t grown = *std::ranges::min_element(latest_) - highest_at_first_;
  return std::max<std::int64_t>(0, grown / kWorthReading * kWorthReading);
}

Expected<bool> MemorySamples::poll(const TorchSample& torch, const Blocks& blocks) {
  const double now = seconds();
  return schedule_.is_due(now, torch.steps) ? sample(now, torch, blocks, false) : Expected<bool>(false);
}

Status MemorySamples::sample_last(const TorchSample& torch, const Blocks& blocks) {
  return sample(seconds(), torch, blocks, true).status();
}

double MemorySamples::seconds() {
  if (!began_ns_) began_ns_ = now_ns();
  return static_cast<double>(now_ns() - *began_ns_) * 1e-9;
}

Expected<bool> MemorySamples::sample(double now, const TorchSample& torch, const Blocks& blocks, bool classes) {
  const std::optional<ResidentMemory> memory = resident_memory(pid_);
  if (!memory) return false;
  // The kernel may kill the recorder, too; then nothing is written at the end.
  if (latest_ == 0) DCMT_RETURN_IF_ERROR(write_limits());
  schedule_.sampled(now, torch.steps);
  const std::optional<std::int64_t> used = cgroup_.used(), limit = cgroup_.limit();
  is_near_limit_ = used && limit && static_cast<double>(*used) >= kNearLimit * static_cast<double>(*limit);
  DCMT_RETURN_IF_ERROR(writer_.write(ResidentRow{
      ++latest_, {torch.seq, now_ns()}, memory->anonymous, memory->file, memory->shared, torch.bytes, used}));
  const std::int64_t outside = memory->anonymous + memory->shared - torch.bytes;
  outside_ = outside;
  if (torch.steps >= kWarmUp) growth_.see(outside);
  const OutsideThen then{outside, growth_.grown()};
  if (classes || schedule_.classes_are_due(now, torch.steps, then)) {
    const double before = agent::thread_cpu_seconds();
    // At the program's end, what its functions had is free.
    DCMT_RETURN_IF_ERROR(write_classes(torch.bytes, blocks, then.grown > 0 && !classes));
    schedule_.classes_read(now, torch.steps, agent::thread_cpu_seconds() - before, then);
  }
  return true;
}

Status MemorySamples::write_classes(std::int64_t torch, const Blocks& blocks, bool with_free) {
  const std::vector<BlockPlace> places = blocks();
  std::int64_t followed = 0;
  for (const BlockPlace& each : places) followed += static_cast<std::int64_t>(each.bytes);
  std::optional<ClassesOfMemory> classes = classes_of_memory(pid_, places);
  if (!classes) return {};
  // Small blocks of torch's allocator have no rows, so they count as malloc's own memory.
  ClassBytes& malloc = (*classes)[static_cast<std::size_t>(MappingClass::kMalloc)];
  malloc.torch = std::min(malloc.bytes, malloc.torch + std::max<std::int64_t>(0, torch - followed));
  for (std::size_t i = 0; i < classes->size(); ++i) {
    const ClassBytes& each = (*classes)[i];
    if (each.mappings == 0) continue;
    MappedRow row{latest_, name_of(static_cast<MappingClass>(i)), each.bytes, each.torch, each.size, each.mappings, 0};
    DCMT_ASSIGN_OR_RETURN(row.name, writer_.intern_or_null(each.largest));
    if (with_free && &each == &malloc) row.free = free_of_malloc(pid_);
    DCMT_RETURN_IF_ERROR(writer_.write(row));
  }
  return {};
}

Status MemorySamples::write_limits() {
  if (cgroup_.limit()) DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kCgroupLimit, *cgroup_.limit()));
  const std::optional<std::int64_t> kills = cgroup_.kills();
  if (kills && kills_before_) DCMT_RETURN_IF_ERROR(writer_.set_meta(meta::kCgroupKills, *kills - *kills_before_));
  return {};
}

}  // namespace dcmt::recorder
