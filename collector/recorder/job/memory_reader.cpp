#include "collector/recorder/job/memory_reader.h"

#include <chrono>
#include <exception>
#include <utility>

#include "collector/agent/clock.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::recorder {
namespace {

std::int64_t now_ns() { return static_cast<std::int64_t>(agent::nanoseconds(CLOCK_MONOTONIC)); }

/// Of this thread. What a reading costs others is this, not how long it had to wait for a core.
double cpu_seconds() { return static_cast<double>(agent::nanoseconds(CLOCK_THREAD_CPUTIME_ID)) * 1e-9; }

}  // namespace

Expected<MemoryReading> MemoryReader::read() {
  if (censuses_ == nullptr) {
    DCMT_ASSIGN_OR_RETURN(scan::Censuses censuses, scan::Censuses::open(pid_, layouts_));
    censuses_ = std::make_unique<scan::Censuses>(std::move(censuses));
  }
  MemoryReading reading;
  const double before = cpu_seconds();
  reading.from_ns = now_ns();
  DCMT_ASSIGN_OR_RETURN(reading.found, censuses_->take({.smallest = static_cast<std::uint64_t>(kFollowedBytes)}));
  reading.to_ns = now_ns();
  reading.cpu_seconds = cpu_seconds() - before;
  return reading;
}

void MemoryReader::start() {
  try {
    result_ = std::async(std::launch::async, [this] { return read(); });
  } catch (const std::exception& error) {  // no thread
    std::promise<Expected<MemoryReading>> failed;
    failed.set_value(Error{ErrorCode::kCannotRecord, error.what()});
    result_ = failed.get_future();
  }
}

std::optional<Expected<MemoryReading>> MemoryReader::take(bool wait) {
  if (!result_.valid()) return std::nullopt;
  if (!wait && result_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
  try {
    return result_.get();
  } catch (const std::exception& error) {  // no memory
    return Expected<MemoryReading>(Error{ErrorCode::kCannotRecord, error.what()});
  }
}

}  // namespace dcmt::recorder
