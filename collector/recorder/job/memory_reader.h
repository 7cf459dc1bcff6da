// Makes readings of one scope of the memory of a process, on a thread of its own, so that its spool is drained
// meanwhile.
#pragma once

#include <sys/types.h>

#include <future>
#include <memory>
#include <optional>
#include <string>

#include "collector/recorder/assemble/owner_book.h"
#include "collector/scan/census.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// What a reading of everything is to find besides what Python objects and graphs lead to.
enum class Also {
  kNothing,
  kLiving,  ///< every storage that is alive
  kCpp,     ///< what holds storages in C++ (docs/adr/0045)
};

/// One caller's thread; the destructor waits for a reading that is under way, at most a few seconds.
class MemoryReader {
 public:
  /// @param layouts  where the layouts of torch are
  MemoryReader(pid_t pid, scan::LayoutFolders layouts, scan::Scope scope);
  ~MemoryReader();
  MemoryReader(const MemoryReader&) = delete;
  MemoryReader& operator=(const MemoryReader&) = delete;

  [[nodiscard]] bool is_reading() const { return result_.valid(); }
  /// Whether the recorder would stay small with a reading.
  [[nodiscard]] bool fits() const;
  /// Whether one may begin now: it fits, and there is one of everything at a time in a recorder. One of variables is
  /// small.
  [[nodiscard]] bool may_start() const;
  /// Begins a reading of storages that have so many bytes or more. Where the machine gives no thread, that is the
  /// result.
  void start(std::int64_t smallest, Also also = Also::kNothing);
  /// The reading if it is over; with `wait`, when it is.
  std::optional<Expected<MemoryReading>> take(bool wait);

 private:
  Expected<MemoryReading> read(std::int64_t smallest, Also also);

  const pid_t pid_;
  const scan::LayoutFolders layouts_;
  const scan::Scope scope_;
  std::unique_ptr<scan::Censuses> censuses_;  ///< used by the reading thread alone while there is one
  std::future<Expected<MemoryReading>> result_;
  std::size_t needs_;  ///< bytes that a reading takes, as far as is known
};

}  // namespace dcmt::recorder
