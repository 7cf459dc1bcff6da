// The processes of one `attach`, recorded together.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collector/recorder/assemble/operator_toml.h"
#include "collector/recorder/console/status_line.h"
#include "collector/recorder/drive/armed.h"
#include "collector/recorder/drive/attach_options.h"
#include "collector/recorder/drive/attachment.h"
#include "collector/recorder/drive/live_figures.h"
#include "collector/recorder/drive/session.h"
#include "collector/recorder/drive/signal_queue.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class AttachedProcesses {
 public:
  /// All parameters must outlive it.
  AttachedProcesses(const AttachOptions& options, SignalQueue& signals, StatusLine& line, Session& session)
      : options_(options), signals_(signals), line_(line), session_(session) {}

  /// Begins recording all of them; an error says why that failed.
  /// @param watched  what was observed before, with `--when`
  Status begin(std::vector<Attachment> attachments, const OperatorTables& operators, const Watched& watched);
  /// Drops all: processes that are recorded already notice that and continue without us.
  void abandon();
  /// Records until all have ended, each for its own reason, and finishes their traces.
  Status record();

  /// The condition of `--when` was met, or there is none.
  [[nodiscard]] bool is_met() const { return counts_from_.has_value(); }

 private:
  struct One {
    Attachment attachment;
    RecordedProcess* recorded = nullptr;  ///< from its begin until its trace is finished
    std::int64_t steps_before = 0;        ///< steps that were over when the condition was met
    bool past_was_reported = false;       ///< the process was informed that what it had before was read
  };

  Expected<std::size_t> drain();
  Status check_condition();
  [[nodiscard]] bool meets(const One& one) const;
  /// True if the requested steps are over: whole ones, counted from the attach, or from when the condition was met.
  [[nodiscard]] bool has_its_steps(const One& one) const;
  [[nodiscard]] bool is_time_over() const;
  /// Leaves these processes and finishes their traces.
  Status leave(const std::vector<One*>& leaving);
  /// @param left  we have left the process; it did not end
  Status finish(One& one, bool left);
  [[nodiscard]] std::string status(ScreenSize screen);

  const AttachOptions& options_;
  SignalQueue& signals_;
  StatusLine& line_;
  Session& session_;
  LiveFigures live_;
  std::vector<One> all_;
  Watched watched_;
  /// Begin of the requested duration; not before the condition is met, if there is one.
  std::optional<std::chrono::steady_clock::time_point> counts_from_;
  std::int64_t steps_when_met_ = 0;
};

}  // namespace dcmt::recorder
