#include "collector/recorder/job/run.h"

#include <fmt/format.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "collector/agent/environment.h"
#include "collector/agent/standby_protocol.h"
#include "collector/recorder/assemble/operator_toml.h"
#include "collector/recorder/assemble/unmatched_rows.h"
#include "collector/recorder/console/status_line.h"
#include "collector/recorder/job/child_process.h"
#include "collector/recorder/job/local_folder.h"
#include "collector/recorder/job/preload.h"
#include "collector/recorder/job/run_claim.h"
#include "collector/recorder/job/run_folder.h"
#include "collector/recorder/job/session.h"
#include "collector/recorder/job/signal_queue.h"
#include "collector/recorder/target/launch.h"
#include "collector/recorder/target/process_table.h"
#include "trace/base/shell_words.h"
#include "trace/spool/layout.h"

namespace dcmt::recorder {
namespace fs = std::filesystem;

namespace {

/// Time between two polls of the spools: each poll has a fixed cost, so it should find many records.
constexpr auto kPause = std::chrono::milliseconds(10);
/// With so many records at once, they come faster than they are processed: no pause.
constexpr std::size_t kManyRecords = 20'000;
constexpr auto kStatusEvery = std::chrono::milliseconds(250);
/// Processes that outlive the command are recorded for this long, unless the recorder waits for them; then their traces
/// are finished. Including that, the command's caller waits less than a second.
constexpr auto kGrace = std::chrono::milliseconds(500);

Expected<std::string> find_agent(const std::string& libraries) {
  std::string agent = libraries + "/libdcmt_agent.so";
  if (access(agent.c_str(), R_OK) == 0) return agent;
  return Error{ErrorCode::kCannotRecord,
               agent + ": the agent is missing. Install dc-memtrace again, or build it with a Python that has torch."};
}

/// Checks whether the job has ended. If its terminal stopped it, stops this process, too, until it is continued.
void follow(JobState& job, StatusLine& line) {
  int status = 0;
  while (!job.wait_status && waitpid(job.pid, &status, WNOHANG | WUNTRACED) == job.pid) {
    if (WIFSTOPPED(status)) {
      line.give_back();
      stop_as_the_job(WSTOPSIG(status));
    } else {
      job.wait_status = status;
    }
  }
}

RunState state_at_start(const RunOptions& options, const TraceFolders& folders, const std::string& spool_folder) {
  RunState state;
  state.spool_folder = spool_folder;
  if (folders.moves()) state.local_folder = folders.local;
  state.recorder_pid = getpid();
  state.recorder_start = process_start(getpid());
  state.host = this_host();
  state.boot = this_boot();
  state.command = options.command;
  state.state = "recording";
  return state;
}

void pass_signals_on(SignalQueue& signals, const JobState& job) {
  for (const signalfd_siginfo& signal : signals.receive()) {
    if (!job.wait_status) pass_on(job.pid, signal);  // once it is reaped, another process can have its pid
  }
}

/// The job continues without being recorded.
void wait_for_job(SignalQueue& signals, JobState& job, StatusLine& line) {
  while (follow(job, line), !job.wait_status) {
    pass_signals_on(signals, job);
    std::this_thread::sleep_for(kPause);
  }
}

/// Records until the job has ended, and until its child processes have ended or need not be waited for.
void record(Session& session, SignalQueue& signals, JobState& job, const RunOptions& options, StatusLine& line) {
  using Clock = std::chrono::steady_clock;
  auto last_status = Clock::now();
  std::optional<Clock::time_point> job_ended;
  for (;;) {
    follow(job, line);
    pass_signals_on(signals, job);
    const std::size_t drained = session.poll(job);
    const auto now = Clock::now();
    const bool asked_to_end = signals.asked_to_end();
    if (job.wait_status) {
      if (session.idle()) return;
      if (job_ended && (asked_to_end || (!options.wait_children && now - *job_ended > kGrace))) return;
      if (!job_ended) job_ended = now;
    }
    if (line.possible() && now - last_status > kStatusEvery && !session.idle()) {
      line.show(session.status_line());
      last_status = now;
    }
    if (drained < kManyRecords) std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

Expected<RunResult> exec_in_standby(const std::string& libraries, const std::vector<std::string>& command) {
  DCMT_ASSIGN_OR_RETURN(const std::string agent, find_agent(libraries));
  std::vector<std::pair<std::string, std::string>> variables = preload_variables(agent);
  variables.emplace_back(agent::kEnvStandby, agent::kStandby);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words.front(), words.data());
  const int code = check_executable(command.front());
  return RunResult{code != 0 ? code : 126, {}, {not_started_line(command.front(), code != 0 ? code : 126)}};
}

Expected<RunResult> run(const RunOptions& options) {
  SignalQueue signals;
  DCMT_ASSIGN_OR_RETURN(const std::string agent, find_agent(options.libraries));
  std::vector<std::string> tables = options.operator_tables;
  tables.push_back(options.shipped_operators);
  DCMT_ASSIGN_OR_RETURN(OperatorTables operators, compile_operator_tables(tables));
  if (const int code = check_executable(options.command.front()); code != 0) {
    return RunResult{code, {}, {not_started_line(options.command.front(), code)}};
  }
  DCMT_ASSIGN_OR_RETURN(const TraceFolders folders, prepare_folders(options.folder, options.scratch));
  const std::uint32_t chunks = options.spool_mib * 16;
  DCMT_ASSIGN_OR_RETURN(std::string spool_folder, make_spool_folder(folders.local, 2 * spool::file_bytes(chunks)));
  const auto remove_folders = [&] {
    remove_spool_folder(folders.local, spool_folder);
    if (folders.moves()) remove_local_folder(folders.local);
  };
  const std::string operators_file = spool_folder + "/operators";
  std::ofstream operators_out(operators_file);
  operators_out << operators.agent;
  operators_out.close();
  if (!operators_out) {
    remove_folders();
    return Error{ErrorCode::kIo, operators_file + ": cannot be written: " + std::strerror(errno)};
  }

  const Launch launch = launch_of_environment();
  RunState state = state_at_start(options, folders, spool_folder);
  if (const Status claimed = claim_run_folder(options.folder, options.replace, launch, state); !claimed.ok()) {
    remove_folders();
    return claimed.error();
  }

  std::vector<std::pair<std::string, std::string>> variables = preload_variables(agent);
  variables.insert(variables.end(), {{agent::kEnvSpool, spool_folder},
                                     {agent::kEnvLibraries, options.libraries},
                                     {agent::kEnvPrepared, options.prepared},
                                     {agent::kEnvDetail, text_of(options.detail)},
                                     {agent::kEnvChunks, std::to_string(chunks)},
                                     {agent::kEnvExitWait, std::to_string(options.exit_wait)},
                                     {agent::kEnvHolds, options.owners && options.holds ? "1" : "0"},
                                     {agent::kEnvOperators, operators_file}});
  DCMT_ASSIGN_OR_RETURN(pid_t pid, start_child(options.command, variables, signals));

  StatusLine line(!options.quiet);
  Session session(folders, spool_folder, options.retention, operators.origins,
                  options.owners ? options.layouts : scan::LayoutFolders(), launch, state);
  JobState job{pid, std::nullopt};
  try {
    record(session, signals, job, options, line);
    session.abandon_rest();
  } catch (const std::exception& error) {  // such as no memory: the job and its exit code do not depend on recording
    line.give_back();
    wait_for_job(signals, job, line);
    state.recorder_pid = 0;
    state.notes = {
        fmt::format("recording stopped: {}. The job ran on unrecorded. dc-memtrace report {} recovers what "
                    "was recorded before.",
                    error.what(), shell_word(options.folder))};
    (void)save_run(options.folder, state);
    return RunResult{shell_exit_code(*job.wait_status), {}, state.notes};
  }
  line.give_back();

  RunResult result;
  result.job_exit = shell_exit_code(*job.wait_status);
  result.traces = session.finished();
  result.notes = session.notes();
  // Most of the shipped rows are for other programs.
  std::erase_if(operators.rows, [&](const TableRow& row) { return row.path == options.shipped_operators; });
  const Expected<std::vector<std::string>> unmatched = unmatched_rows(operators.rows, result.traces);
  if (unmatched.ok()) result.notes.insert(result.notes.end(), unmatched->begin(), unmatched->end());
  if (!session.unfinished()) {
    remove_spool_folder(folders.local, spool_folder);
    state.spool_folder.clear();
  }
  if (session.unfinished() || session.unmoved()) {
    state.recorder_pid = 0;
  } else {
    state.state = "finished";
    state.local_folder.clear();
    if (folders.moves()) remove_local_folder(folders.local);
  }
  if (result.traces.empty() && result.notes.empty()) {
    result.notes.emplace_back("no process that was followed made a tensor: nothing was recorded");
  }
  state.notes = result.notes;
  // If a trace could not be finished because the disk is full, the saved file is enough for a later report.
  const Status saved = save_run(options.folder, state);
  if (!saved.ok() && !session.unfinished()) result.notes.push_back(saved.error().message);
  return result;
}

}  // namespace dcmt::recorder
