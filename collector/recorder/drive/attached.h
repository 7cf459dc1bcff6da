// One recording of one attached process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "collector/recorder/assemble/operator_toml.h"
#include "collector/recorder/drive/attach.h"
#include "collector/recorder/folder/run_folder.h"
#include "collector/recorder/process/process_recorder.h"
#include "collector/recorder/target/standby_connection.h"
#include "collector/recorder/target/target_process.h"
#include "trace/base/descriptor.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// Called while another process is waited for: false cancels.
using Meanwhile = std::function<bool()>;

/// Thread-safety: none.
class Attached {
 public:
  /// @param options  must outlive this object
  Attached(const AttachOptions& options, TargetProcess target, StandbyConnection connection)
      : options_(options), target_(std::move(target)), connection_(std::move(connection)) {}

  /// Asks the process to record.
  Status ask(const OperatorTables& operators);
  /// Waits until the process records; an error says why it does not. Adds the trace's name to `state` and saves it.
  Status begin(const OperatorTables& operators, RunState& state, const Meanwhile& meanwhile);
  /// Processes the published records; returns their number.
  Expected<std::size_t> drain();

  /// True if the condition of `--when` was met since the process has been recorded. Reads rss from the kernel.
  [[nodiscard]] bool meets(const Condition& condition);
  /// The condition was met, in this process or another one. From here on steps count.
  Status met(const std::string& note);

  /// True if the requested steps are over: whole ones, counted from the attach, or from when the condition was met.
  [[nodiscard]] bool has_its_steps() const;
  /// The process has closed the connection, or somebody else has detached from it.
  [[nodiscard]] bool has_ended() const { return is_over_ || connection_.has_ended(); }
  [[nodiscard]] bool past_is_known() const { return recorder_->past_is_known(); }
  [[nodiscard]] Totals totals() const { return recorder_->totals(); }
  [[nodiscard]] std::uint64_t lost() const { return recorder_->spool().lost(); }
  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] const std::string& trace() const { return recorder_->trace_path(); }

  /// The process removes its hooks; afterwards all its records are published.
  Status leave(const Meanwhile& meanwhile);
  /// Finishes the trace. `left`: we have left the process; it did not end.
  Status finish(bool left);

 private:
  const AttachOptions& options_;
  TargetProcess target_;
  StandbyConnection connection_;
  Descriptor memory_;
  std::unique_ptr<ProcessRecorder> recorder_;
  std::int64_t steps_before_ = 0;  ///< steps that were over when the condition was met
  bool past_reported_ = false;     ///< the process was informed that what it had before was read
  bool is_over_ = false;
};

}  // namespace dcmt::recorder
