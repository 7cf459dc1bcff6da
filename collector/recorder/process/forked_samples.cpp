#include "collector/recorder/process/forked_samples.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "collector/agent/clock.h"
#include "collector/recorder/process/own_clock.h"
#include "collector/recorder/target/forked_children.h"
#include "collector/recorder/target/resident_memory.h"

namespace dcmt::recorder {
namespace {

/// Time between two samples: in seconds, and as a share of the run.
constexpr double kBetweenForked = 1, kBetweenForkedShare = 1.0 / 100;
/// What the children do not share is worth a reading from this size on, and whenever it has doubled.
constexpr std::int64_t kWorthReadingChild = std::int64_t{64} << 20;
/// Processor time for samples, and for readings: in seconds, and as a share of the run's time. The last reading may
/// take more: growth needs two.
constexpr double kFreeForSamples = 0.3, kShareForSamples = 0.0025;
constexpr double kFreeForReadings = 3, kShareForReadings = 0.005;
/// Of more children, those that are sampled.
constexpr std::size_t kMostChildren = 64;

}  // namespace

bool ForkedSchedule::is_due(double now) const {
  return now >= next_ && samples_ + latest_sample_ <= kFreeForSamples + kShareForSamples * now;
}

void ForkedSchedule::sampled(double now, double took) {
  next_ = now + std::max(kBetweenForked, kBetweenForkedShare * now);
  samples_ += latest_sample_ = took;
}

bool ForkedSchedule::reading_is_due(double now, std::int64_t unshared) const {
  return unshared >= kWorthReadingChild && unshared >= 2 * at_reading_ &&
         readings_ <= kFreeForReadings + kShareForReadings * now;
}

double ForkedSamples::seconds() {
  if (!began_ns_) began_ns_ = now_ns();
  return static_cast<double>(now_ns() - *began_ns_) * 1e-9;
}

Expected<bool> ForkedSamples::poll(std::int64_t seq) {
  DCMT_ASSIGN_OR_RETURN(const bool was_read, receive(seq, false));
  // What a reading finds is compared with a sample of that time.
  if (!was_read && !schedule_.is_due(seconds())) return false;
  DCMT_ASSIGN_OR_RETURN(const bool sampled, sample(seq));
  return was_read || sampled;
}

Status ForkedSamples::end(std::int64_t seq) { return receive(seq, true).status(); }

Expected<bool> ForkedSamples::sample(std::int64_t seq) {
  const double before = agent::thread_cpu_seconds();
  std::vector<ForkedChild> children = forked_children(pid_);
  children.resize(std::min(children.size(), kMostChildren));
  ForkedRow row;
  row.at = {seq, now_ns()};
  std::int64_t unshared = 0, most = 0;
  pid_t largest = 0;
  for (const ForkedChild& each : children) {
    const std::optional<SharedMemory> memory = shared_memory(each.pid);
    if (!memory) continue;
    row.id = ++latest_;
    row.pid = each.pid;
    row.start = static_cast<std::int64_t>(each.start);
    DCMT_ASSIGN_OR_RETURN(row.name, writer_.intern(each.name));
    row.resident = memory->resident;
    row.unshared = memory->unshared;
    DCMT_RETURN_IF_ERROR(writer_.write(row));
    unshared += memory->unshared;
    if (memory->unshared <= most) continue;
    most = memory->unshared;
    largest = each.pid;
  }
  const double now = seconds();
  schedule_.sampled(now, agent::thread_cpu_seconds() - before);
  if (layouts_ && reader_ == nullptr && schedule_.reading_is_due(now, unshared)) {
    auto reader = std::make_unique<MemoryReader>(largest, *layouts_, scan::Scope::kAll);
    if (reader->may_start()) {
      reader_ = std::move(reader);
      read_pid_ = largest;
      schedule_.reading_begins(unshared);
      // Its storages are its parent's: only collections are read.
      reader_->start({.smallest = std::numeric_limits<std::uint64_t>::max(), .parent = pid_});
    }
  }
  return row.id > 0;
}

Expected<bool> ForkedSamples::receive(std::int64_t seq, bool wait) {
  if (reader_ == nullptr) return false;
  std::optional<Expected<MemoryReading>> reading = reader_->receive(wait);
  if (!reading) return false;
  reader_.reset();
  // A child can end at any time, and a process of another program cannot be read.
  if (!reading->ok()) {
    schedule_.reading_failed();
    return false;
  }
  schedule_.reading_took((*reading)->cpu_seconds);
  ForkedCollectionRow row;
  row.reading = ++reading_;
  row.at = {seq, now_ns()};
  row.pid = read_pid_;
  for (const scan::Collection& each : (*reading)->found.collections) {
    DCMT_ASSIGN_OR_RETURN(row.path, writer_.intern_or_null(each.path));
    DCMT_ASSIGN_OR_RETURN(row.type, writer_.intern_or_null(each.type));
    DCMT_ASSIGN_OR_RETURN(row.place, writer_.intern_or_null(each.place));
    DCMT_ASSIGN_OR_RETURN(row.entry_type, writer_.intern_or_null(each.entry_type));
    row.entries = static_cast<std::int64_t>(each.entries);
    row.bytes = static_cast<std::int64_t>(each.bytes);
    row.unshared = static_cast<std::int64_t>(each.unshared_bytes);
    row.inherited = each.is_inherited;
    DCMT_RETURN_IF_ERROR(writer_.write(row));
    ++row.position;
  }
  return row.position > 0;
}

}  // namespace dcmt::recorder
