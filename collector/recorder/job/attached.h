// One recording of one process that was attached to.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "collector/recorder/assemble/operator_toml.h"
#include "collector/recorder/job/attach.h"
#include "collector/recorder/job/process_recorder.h"
#include "collector/recorder/job/run_folder.h"
#include "collector/recorder/job/standby_connection.h"
#include "collector/recorder/target/target_process.h"
#include "trace/base/descriptor.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// Asked while another process is waited for: false gives up.
using Meanwhile = std::function<bool()>;

/// Thread-safety: none.
class Attached {
 public:
  /// @param options  outlive this
  Attached(const AttachOptions& options, TargetProcess target, StandbyConnection connection)
      : options_(options), target_(std::move(target)), connection_(std::move(connection)) {}

  /// Asks the process to record.
  Status ask(const OperatorTables& operators);
  /// From here on the process records, or an error says why not. The trace's name is put into `state`, and saved.
  Status begin(const OperatorTables& operators, RunState& state, const Meanwhile& meanwhile);
  /// Takes what the process has published; how many records.
  Expected<std::size_t> drain();

  /// Whether the condition of `--when` has been met since the process is recorded. Asks the kernel for rss.
  [[nodiscard]] bool meets(const Condition& condition);
  /// It was, in this process or another one. From here on steps count.
  Status met(const std::string& note);

  /// The steps that were asked for are over: whole ones, counted from where we came, or where the condition was met.
  [[nodiscard]] bool has_its_steps() const;
  /// The process has left the connection, or somebody else has detached from it.
  [[nodiscard]] bool has_ended() const { return is_over_ || connection_.has_ended(); }
  [[nodiscard]] bool past_is_known() const { return recorder_->past_is_known(); }
  [[nodiscard]] Totals totals() const { return recorder_->totals(); }
  [[nodiscard]] std::uint64_t lost() const { return recorder_->spool().lost(); }
  [[nodiscard]] bool is_over() const { return is_over_; }
  [[nodiscard]] const std::string& trace() const { return recorder_->trace_path(); }

  /// The process puts back what it hooked. Its records are published then.
  Status leave(const Meanwhile& meanwhile);
  /// The trace is finished. `left`: we have left the process, not it us.
  Status finish(bool left);

 private:
  const AttachOptions& options_;
  TargetProcess target_;
  StandbyConnection connection_;
  Descriptor memory_;
  std::unique_ptr<ProcessRecorder> recorder_;
  std::int64_t steps_before_ = 0;  ///< that were over when the condition was met
  bool past_reported_ = false;     ///< to the process: that what it had before is known
  bool is_over_ = false;
};

}  // namespace dcmt::recorder
