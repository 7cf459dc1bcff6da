#include "collector/recorder/process/memory_reader.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <utility>

#include "collector/agent/clock.h"
#include "collector/recorder/process/own_clock.h"
#include "trace/base/page_size.h"
#include "trace/base/read_file.h"

namespace dcmt::recorder {
namespace {

/// Limit of a recorder's memory during a reading, for each process that is read. The limit for all of them is the sum:
/// what the recorder keeps of each rank stays in its memory while another rank is read.
constexpr std::size_t kMostMemory = std::size_t{256} << 20;
/// The same once the program has ended: its own memory goes next, and there is no later reading.
constexpr std::size_t kMostAtEnd = 2 * kMostMemory;
/// Memory for a reading of a program that has just imported torch.
constexpr std::size_t kUsual = std::size_t{170} << 20;

/// Collections that a reading examines.
constexpr std::size_t kCollections = 48;

// Only the draining thread uses these. It begins and ends readings.
/// Readers of everything: one for each process that is read.
std::size_t readers = 0;
/// Readings of everything that run in this recorder.
std::size_t running = 0;
/// Bytes that the recorder is expected to have when they are over.
std::size_t expected = 0;

/// Resident bytes that only this process has: the spools belong to the job.
std::size_t own_memory() {
  const std::string pages = read_file("/proc/self/statm").value_or("");
  unsigned long resident = 0, shared = 0;
  if (std::sscanf(pages.c_str(), "%*u %lu %lu", &resident, &shared) != 2) return 0;
  return (resident - shared) * page_size();
}

}  // namespace

MemoryReader::MemoryReader(pid_t pid, scan::LayoutFolders layouts, scan::Scope scope)
    : pid_(pid), layouts_(std::move(layouts)), scope_(scope), needs_(kUsual) {
  if (scope_ == scan::Scope::kAll) ++readers;
}

MemoryReader::~MemoryReader() {
  (void)receive(true);
  if (scope_ == scan::Scope::kAll) --readers;
}

bool MemoryReader::fits_beside(std::size_t others, Program program) const {
  const std::size_t most = readers * (program == Program::kHasEnded ? kMostAtEnd : kMostMemory);
  return std::max(own_memory(), others) + needs_ <= std::max(most, needs_ + needs_ / 4);
}

bool MemoryReader::fits(Program program) const { return fits_beside(0, program); }

bool MemoryReader::may_start(Program program) const {
  if (is_reading()) return false;
  if (scope_ == scan::Scope::kVariables) return true;
  return (program == Program::kHasEnded || running == 0) && fits_beside(expected, program);
}

Expected<MemoryReading> MemoryReader::read(const scan::CensusOptions& options) {
  const double before = agent::thread_cpu_seconds();
  if (censuses_ == nullptr) {
    DCMT_ASSIGN_OR_RETURN(scan::Censuses censuses, scan::Censuses::open(pid_, layouts_));
    censuses_ = std::make_unique<scan::Censuses>(std::move(censuses));
  }
  MemoryReading reading;
  reading.scope = scope_;
  reading.from_ns = now_ns();
  DCMT_ASSIGN_OR_RETURN(reading.found, censuses_->take(options));
  reading.to_ns = now_ns();
  reading.counted_ns = reading.from_ns + static_cast<std::int64_t>(reading.found.until_second * 1e9);
  reading.cpu_seconds = agent::thread_cpu_seconds() - before;
  return reading;
}

void MemoryReader::start(scan::CensusOptions options) {
  options.scope = scope_;
  options.collections = kCollections;
  has_holders_.store(false, std::memory_order_relaxed);
  options.on_holders = [this] { has_holders_.store(true, std::memory_order_release); };
  if (scope_ == scan::Scope::kAll) expected = (++running == 1 ? own_memory() : expected) + needs_;
  try {
    result_ = std::async(std::launch::async, [this, options = std::move(options)] { return read(options); });
  } catch (const std::exception& error) {  // no thread
    std::promise<Expected<MemoryReading>> failed;
    failed.set_value(Error{ErrorCode::kCannotRecord, error.what()});
    result_ = failed.get_future();
  }
}

std::optional<Expected<MemoryReading>> MemoryReader::receive(bool wait) {
  if (!result_.valid()) return std::nullopt;
  if (!wait && result_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
  result_.wait();
  if (scope_ == scan::Scope::kAll) expected = --running == 0 ? 0 : expected - needs_;
  try {
    Expected<MemoryReading> result = result_.get();
    // Most of the memory is what was read; the rest is the graph of objects.
    if (result.ok()) needs_ = result->found.bytes_read + result->found.bytes_read / 3;
    // The allocator keeps memory that the reading's thread has freed; with it, the next reading would not fit.
    if (scope_ == scan::Scope::kAll) malloc_trim(0);
    return result;
  } catch (const std::exception& error) {  // no memory
    return Expected<MemoryReading>(Error{ErrorCode::kCannotRecord, error.what()});
  }
}

}  // namespace dcmt::recorder
