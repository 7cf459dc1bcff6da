// Makes readings of one scope of a process's memory on a thread of its own, so that the spool is drained meanwhile.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collector/recorder/assemble/owner_book.h"
#include "collector/scan/census.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// What the process that is read does meanwhile.
enum class Program : std::uint8_t { kRuns, kHasEnded };

/// Only one thread may use it. The destructor waits for a running reading, at most a few seconds.
class MemoryReader {
 public:
  /// @param layouts  folders of torch's layouts
  MemoryReader(pid_t pid, scan::LayoutFolders layouts, scan::Scope scope);
  ~MemoryReader();
  MemoryReader(const MemoryReader&) = delete;
  MemoryReader& operator=(const MemoryReader&) = delete;

  [[nodiscard]] bool is_reading() const { return result_.valid(); }
  /// True if the running reading has named all holders: what it does now does not depend on them.
  [[nodiscard]] bool has_holders() const { return has_holders_.load(std::memory_order_acquire); }
  /// True if the recorder would stay small with a reading.
  [[nodiscard]] bool fits(Program program = Program::kRuns) const;
  /// Bytes that a reading is expected to need.
  [[nodiscard]] std::size_t needs() const { return needs_; }
  /// True if a reading may begin now. Readings of variables are small. One of everything has to fit, and runs alone in
  /// the recorder, unless the program has ended: its memory will not be there any more when the others are over.
  [[nodiscard]] bool may_start(Program program = Program::kRuns) const;
  /// Begins a reading. If no thread can be started, that is the result.
  /// @param options  its scope is that of this reader
  void start(scan::CensusOptions options);
  /// The reading if it is over; with `wait`, waits for it.
  std::optional<Expected<MemoryReading>> receive(bool wait);

 private:
  /// True if it fits where the others are expected to have so many bytes when they are over.
  [[nodiscard]] bool fits_beside(std::size_t others, Program program) const;
  Expected<MemoryReading> read(const scan::CensusOptions& options);

  const pid_t pid_;
  const scan::LayoutFolders layouts_;
  const scan::Scope scope_;
  std::unique_ptr<scan::Censuses> censuses_;  ///< only the reading thread uses it while there is one
  std::future<Expected<MemoryReading>> result_;
  std::atomic<bool> has_holders_{false};
  std::size_t needs_;  ///< as needs() says; of the running reading, if there is one
};

}  // namespace dcmt::recorder
