#include "collector/recorder/drive/run.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <fstream>
#include <optional>
#include <utility>

#include "collector/agent/environment.h"
#include "collector/agent/standby_protocol.h"
#include "collector/recorder/assemble/operator_toml.h"
#include "collector/recorder/assemble/unmatched_rows.h"
#include "collector/recorder/console/status_line.h"
#include "collector/recorder/drive/child_process.h"
#include "collector/recorder/drive/command.h"
#include "collector/recorder/drive/job_processes.h"
#include "collector/recorder/drive/live_figures.h"
#include "collector/recorder/drive/preload.h"
#include "collector/recorder/drive/record_rounds.h"
#include "collector/recorder/drive/session.h"
#include "collector/recorder/drive/signal_queue.h"
#include "collector/recorder/folder/local_folder.h"
#include "collector/recorder/folder/run_claim.h"
#include "collector/recorder/folder/run_folder.h"
#include "collector/recorder/target/launch.h"
#include "trace/base/shell_words.h"
#include "trace/spool/layout.h"

namespace dcmt::recorder {
namespace {

/// Processes that outlive the command are recorded for this long, unless the recorder waits for them; then their traces
/// are finished. Including that, the command's caller waits less than a second.
constexpr auto kGrace = std::chrono::milliseconds(500);

constexpr SessionRules kRunRules{.ends_with_error = false, .keeps_empty = false, .reports_out_of_memory = true};

Expected<std::string> find_agent(const std::string& libraries) {
  std::string agent = libraries + "/libdcmt_agent.so";
  if (access(agent.c_str(), R_OK) == 0) return agent;
  return Error{ErrorCode::kCannotRecord,
               agent + ": the agent is missing. Install dc-memtrace again, or build it with a Python that has torch."};
}

bool write_proved(const std::string& path, const RunOptions& options) {
  std::ofstream file(path, std::ios::binary);
  const auto write = [&file](const auto& rows) {
    file.write(reinterpret_cast<const char*>(rows.data()), static_cast<std::streamsize>(rows.size() * sizeof rows[0]));
  };
  write(std::array{static_cast<std::int64_t>(options.proved_graphs.size())});
  write(options.proved_graphs);
  write(options.prove);
  file.close();
  return !file.fail();
}

/// Records until the command has ended, and until its child processes have ended or need not be waited for.
/// @param asked_to_end  out: as in RunResult
Status record(Command& command, JobProcesses& processes, Session& session, SignalQueue& signals,
              const RunOptions& options, StatusLine& line, bool& asked_to_end) {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> ended;
  LiveFigures live;
  const auto status = [&](ScreenSize screen) -> std::string {
    if (session.idle()) return {};
    std::string text = session.status_line() + (command.wait_status() ? " · the program has ended" : "");
    return options.live ? live.view(session, std::move(text), screen) : text;
  };
  return record_rounds([&]() -> Expected<Round> {
    command.follow();
    if (command.wait_status() && !ended) line.update_now(status);  // finishing the traces may take seconds
    DCMT_ASSIGN_OR_RETURN(const std::size_t drained, processes.drain(command));
    bool is_last = false;
    if (command.wait_status()) {
      const auto now = Clock::now();
      is_last = session.idle();
      if (!ended) {
        ended = now;
        asked_to_end = signals.asked_to_end();
        if (asked_to_end) signals.forget_end();  // that was for the command
      } else {
        is_last |= signals.asked_to_end() || (!options.wait_children && now - *ended > kGrace);
      }
    }
    line.update(status);
    return Round{drained, is_last};
  });
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
  return RunResult{code != 0 ? code : 126, false, {}, {not_started_line(command.front(), code != 0 ? code : 126)}};
}

Expected<RunResult> run(const RunOptions& options) {
  SignalQueue signals(SignalsFor::kJob);
  DCMT_ASSIGN_OR_RETURN(const std::string agent, find_agent(options.libraries));
  DCMT_ASSIGN_OR_RETURN(OperatorTables operators, compile_operator_tables(options.all_tables()));
  if (const int code = check_executable(options.command.front()); code != 0) {
    return RunResult{code, false, {}, {not_started_line(options.command.front(), code)}};
  }
  DCMT_ASSIGN_OR_RETURN(const TraceFolders folders, prepare_folders(options.folder, options.scratch));
  const std::uint32_t chunks = options.spool_mib * 16;
  DCMT_ASSIGN_OR_RETURN(std::string spool_folder, make_spool_folder(folders.local, 2 * spool::file_bytes(chunks)));
  const auto remove_folders = [&] {
    remove_spool_folder(folders.local, spool_folder);
    remove_local_folder(folders);
  };
  const std::string operators_file = spool_folder + "/operators";
  std::ofstream operators_out(operators_file);
  operators_out << operators.agent << options.watch_lines();
  operators_out.close();
  if (!operators_out) {
    remove_folders();
    return Error{ErrorCode::kIo, operators_file + ": cannot be written: " + std::strerror(errno)};
  }

  const std::string proved_file = spool_folder + "/proved";
  if (!options.prove.empty() && !write_proved(proved_file, options)) {
    remove_folders();
    return Error{ErrorCode::kIo, proved_file + ": cannot be written: " + std::strerror(errno)};
  }

  const Launch launch = launch_of_environment();
  RunState state = state_at_start(options.command, folders);
  state.spool_folder = spool_folder;
  if (const Status claimed = claim_run_folder(options.folder, options.replace, launch, state); !claimed.ok()) {
    remove_folders();
    return claimed.error();
  }

  const bool only_oom = options.detail == Detail::kOutOfMemory;  // costs nothing until then
  std::vector<std::pair<std::string, std::string>> variables = preload_variables(agent);
  variables.insert(variables.end(), {{agent::kEnvSpool, spool_folder},
                                     {agent::kEnvLibraries, options.libraries},
                                     {agent::kEnvPrepared, options.prepared},
                                     {agent::kEnvDetail, text_of(options.detail)},
                                     {agent::kEnvChunks, std::to_string(chunks)},
                                     {agent::kEnvExitWait, std::to_string(only_oom ? 0 : options.exit_wait)},
                                     {agent::kEnvHolds, options.owners && options.holds && !only_oom ? "1" : "0"},
                                     {agent::kEnvOperators, operators_file}});
  if (options.native) variables.emplace_back(agent::kEnvNative, "1");
  if (options.streams) variables.emplace_back(agent::kEnvStreams, "1");
  if (options.gpu_work) variables.emplace_back(agent::kEnvGpuWork, "1");
  if (!options.prove.empty()) {
    variables.emplace_back(agent::kEnvProve, proved_file);
    variables.emplace_back(agent::kEnvProveBy, options.prove_by);
  }
  DCMT_ASSIGN_OR_RETURN(pid_t pid, start_child(options.command, variables, signals));

  StatusLine line(!options.quiet, StatusPlace::kLastRows);
  Command command(pid, signals, line);
  Session session(options, folders, operators.origins, state, kRunRules);
  session.begin_with(pid);
  JobProcesses processes(spool_folder, options.command, launch, session);
  Status recorded;
  bool asked_to_end = false;
  try {
    recorded = record(command, processes, session, signals, options, line, asked_to_end);
    if (recorded.ok()) processes.abandon_rest();
  } catch (const std::exception& error) {  // such as no memory: the job and its exit code do not depend on recording
    recorded = {ErrorCode::kStopped, error.what()};
  }
  line.give_back();
  const int exit = shell_exit_code(command.wait());
  if (!recorded.ok()) {
    state.recorder_pid = 0;
    state.notes = {
        fmt::format("recording stopped: {}. The job ran on unrecorded. dc-memtrace report {} recovers what "
                    "was recorded before.",
                    recorded.error().message, shell_word(options.folder))};
    (void)save_run(options.folder, state);
    return RunResult{exit, asked_to_end, {}, state.notes};
  }

  RunResult result{exit, asked_to_end, session.finished(), session.notes()};
  // Most of the shipped rows are for other programs.
  std::erase_if(operators.rows, [&](const TableRow& row) { return row.path == options.shipped_operators; });
  const Expected<std::vector<std::string>> unmatched = unmatched_rows(operators.rows, result.traces);
  if (unmatched.ok()) result.notes.insert(result.notes.end(), unmatched->begin(), unmatched->end());
  if (!session.unfinished()) {
    remove_spool_folder(folders.local, spool_folder);
    state.spool_folder.clear();
  }
  session.close();
  state.notes = result.notes;
  if (result.traces.empty() && result.notes.empty()) {
    state.notes.emplace_back("no process that was followed made a tensor: nothing was recorded");
    // A program that failed has said why itself.
    if (exit == 0) result.notes = state.notes;
  }
  // If a trace could not be finished because the disk is full, the saved file is enough for a later report.
  const Status saved = save_run(options.folder, state);
  if (!saved.ok() && !session.unfinished()) result.notes.push_back(saved.error().message);
  return result;
}

}  // namespace dcmt::recorder
