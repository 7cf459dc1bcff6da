#include "collector/recorder/drive/attach.h"

#include <unistd.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "collector/recorder/assemble/operator_toml.h"
#include "collector/recorder/console/human_text.h"
#include "collector/recorder/console/status_line.h"
#include "collector/recorder/drive/attached_processes.h"
#include "collector/recorder/drive/attachment.h"
#include "collector/recorder/drive/session.h"
#include "collector/recorder/drive/signal_queue.h"
#include "collector/recorder/folder/local_folder.h"
#include "collector/recorder/folder/run_claim.h"
#include "collector/recorder/folder/run_folder.h"
#include "collector/recorder/target/enter.h"
#include "collector/recorder/target/launch.h"
#include "collector/recorder/target/standby_connection.h"
#include "collector/recorder/target/target_process.h"
#include "trace/base/quantities.h"
#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace {

using Clock = std::chrono::steady_clock;

constexpr SessionRules kAttachRules{.ends_with_error = true, .keeps_empty = true, .reports_out_of_memory = false};

Expected<std::vector<Attachment>> connect_all(const AttachOptions& options, const InjectOptions& entering) {
  std::vector<Attachment> attachments;
  for (const pid_t pid : options.pids) {
    DCMT_ASSIGN_OR_RETURN(StandbyConnection connection, connect(pid, entering));
    DCMT_ASSIGN_OR_RETURN(TargetProcess target, inspect_process(pid));
    attachments.emplace_back(options, std::move(target), std::move(connection));
  }
  return attachments;
}

/// Checks that the processes can be attached to, and connects to them, unless a condition must be met first.
Expected<std::vector<Attachment>> prepare(const AttachOptions& options, SignalQueue& signals) {
  const auto began = Clock::now();
  const InjectOptions entering{options.entry, options.waits, [&, began] {
                                 return !signals.asked_to_end() &&
                                        (!options.duration || Clock::now() - began < *options.duration);
                               }};
  for (const pid_t pid : options.pids) {
    if (options.waits) DCMT_RETURN_IF_ERROR(wait_for_torch(pid, entering));
    if (options.when) DCMT_RETURN_IF_ERROR(check_can_attach(pid, options.entry));
  }
  if (options.when) return std::vector<Attachment>();
  return connect_all(options, entering);
}

/// Waits until a process comes near the condition.
Expected<Watched> wait_armed(const AttachOptions& options, SignalQueue& signals, StatusLine& line) {
  auto watched = wait_until_near(*options.when, options.pids, [&](const Watched& now) {
    line.update([&](ScreenSize) {
      return "waits for " + text_of(options.when->condition) + " · rss " + rounded_bytes(now.highest_resident) +
             " at most";
    });
    return !signals.asked_to_end();
  });
  line.give_back();
  return watched;
}

}  // namespace

Expected<AttachResult> attach(const AttachOptions& options) {
  SignalQueue signals(SignalsFor::kRecording);
  StatusLine line(!options.quiet, options.live ? StatusPlace::kLastRows : StatusPlace::kCursorRow);
  signals.before_stop([&] { line.give_back(); });
  DCMT_ASSIGN_OR_RETURN(std::vector<Attachment> attachments, prepare(options, signals));
  DCMT_ASSIGN_OR_RETURN(const OperatorTables operators, compile_operator_tables(options.all_tables()));
  DCMT_ASSIGN_OR_RETURN(const TraceFolders folders, prepare_folders(options.folder, options.scratch));
  DCMT_ASSIGN_OR_RETURN(const TargetProcess first, inspect_process(options.pids.front()));
  RunState state = state_at_start(first.command, folders);
  if (const Status claimed = claim_run_folder(options.folder, options.replace, launch_of_environment(), state);
      !claimed.ok()) {
    remove_local_folder(folders);
    return claimed.error();
  }
  Session session(options, folders, operators.origins, state, kAttachRules);
  AttachedProcesses processes(options, signals, line, session);
  const auto begin = [&]() -> Status {
    Watched watched;
    if (options.when) {
      DCMT_ASSIGN_OR_RETURN(watched, wait_armed(options, signals, line));
      DCMT_ASSIGN_OR_RETURN(
          attachments, connect_all(options, {options.entry, options.waits, [&] { return !signals.asked_to_end(); }}));
    }
    return processes.begin(std::move(attachments), operators, watched);
  };
  if (const Status begun = begin(); !begun.ok()) {
    processes.abandon();
    for (const auto& [source, trace] : state.traces) {
      remove_trace(folders.local + "/" + trace);
    }
    remove_local_folder(folders);
    unlink((options.folder + "/" + state.file).c_str());  // nothing was recorded
    return begun.error();
  }
  DCMT_RETURN_IF_ERROR(processes.record());
  session.wait_for_moves();
  session.close();
  const Status saved = save_run(options.folder, state);
  DCMT_RETURN_IF_ERROR(session.moved());
  DCMT_RETURN_IF_ERROR(saved);
  return AttachResult{session.finished(), processes.is_met(), session.steps()};
}

}  // namespace dcmt::recorder
