// When the memory of a process is read, and what becomes of each reading.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "collector/recorder/process/memory_reader.h"
#include "collector/recorder/process/object_schedule.h"
#include "collector/recorder/process/samplers.h"
#include "collector/recorder/process/scan_schedule.h"
#include "collector/recorder/process/spool_drain.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// Readings begin by the schedule, because the program requests one, because it has ended, or because the recorder
/// wants an extra one. Thread-safety: none.
class Readings {
 public:
  /// Both must outlive it.
  Readings(SpoolDrain& process, Samplers& samplers) : process_(process), samplers_(samplers) {}

  /// From now on the memory is read. @param layouts  folders of torch's layouts
  void begin(pid_t pid, const scan::LayoutFolders& layouts);
  /// Processes readings that are over, begins those that are due, and answers the process if it waits for one.
  Status poll();
  /// No further reading begins.
  void begin_no_more() { begins_ = false; }
  /// Waits for the readings that run.
  Status end();

  /// Reads everything as soon as possible, regardless of the schedule.
  void request_full_scan() { extra_ = Extra::kWanted; }
  /// The same for variables, which takes milliseconds: memory runs out soon, or has run out in another process.
  void read_variables_soon() { wants_variables_ = true; }
  /// True if that reading is over, or is impossible.
  [[nodiscard]] bool has_read_once_more() const { return extra_ == Extra::kOver || !all_ || !all_->fits(); }

  /// The reader of everything, for a reading out of turn; nullptr: the memory is not read, or cannot be.
  [[nodiscard]] MemoryReader* reader() const { return all_.get(); }
  /// Such a reading has failed: so will others.
  void give_up() { failed_ = true; }

 private:
  /// Processes a reading that is over, and begins one that is due.
  Status read(MemoryReader& reader, scan::Scope scope);
  [[nodiscard]] bool is_reading() const { return all_ && (all_->is_reading() || variables_->is_reading()); }
  void start(MemoryReader& reader, scan::Scope scope, bool for_objects = false);
  Status receive(MemoryReader& reader, bool wait);
  /// The process waits for an answer: its program has ended, or requests a reading.
  Status serve();
  /// Reads the memory of an ended program if another reading would add information, then lets it exit.
  Status on_program_end();
  /// Reads the memory of a program that requests it, after the running readings.
  Status serve_request();
  /// Reads the variables of a program that waits at a point of its work.
  void serve_hold();
  Progress progress();

  SpoolDrain& process_;
  Samplers& samplers_;
  pid_t pid_ = 0;
  std::unique_ptr<MemoryReader> variables_, all_;  ///< by scope; nullptr: the memory is not read, or cannot be
  ScanSchedule schedule_;
  ObjectSchedule objects_;
  struct Began {
    double at = 0;             ///< begin, in seconds as of SpoolDrain
    Progress program;          ///< at the begin: the reading may miss later events
    bool waits = false;        ///< the process waits for it
    bool waited = false;       ///< the process has waited until its holders were named
    bool ended = false;        ///< the program had ended
    bool for_objects = false;  ///< only `objects_` wanted it
  };
  std::array<Began, 2> began_{};  ///< by scope
  enum class Extra : std::uint8_t { kNone, kWanted, kUnderWay, kOver };
  Extra extra_ = Extra::kNone;
  bool wants_variables_ = false;  ///< a reading of variables is wanted
  /// What a reading of everything needs that was due, did not fit, and has not been made since.
  std::optional<std::size_t> too_large_;
  bool begins_ = true;
  bool failed_ = false;
  bool requested_ = false;            ///< the program has requested the running readings
  bool all_follows_ = false;          ///< the reading of everything begins when that of variables is over: it decides
  bool is_answered_ = false;          ///< and all of them are over
  bool held_ = false;                 ///< the program waits for the holders of the running reading of variables
  bool program_ended_ = false;        ///< its memory is being destroyed, or waits for the last readings
  int last_readings_ = 0;             ///< readings of everything that began because the program had ended
  bool read_variables_last_ = false;  ///< a reading of variables began for that reason
  std::int64_t highest_ = 0;          ///< highest allocated bytes at a poll
  double grows_from_ = 0;             ///< latest poll without growth that goes on, in seconds as of SpoolDrain
};

}  // namespace dcmt::recorder
