// The processes of a command that use torch: finds their spools, and finishes their traces when they have ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "collector/recorder/drive/command.h"
#include "collector/recorder/drive/session.h"
#include "collector/recorder/folder/spool_keeper.h"
#include "collector/recorder/target/launch.h"
#include "collector/recorder/target/unseen_processes.h"
#include "trace/base/status.h"
#include "trace/spool/spool_reader.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class JobProcesses {
 public:
  /// @param words  of the command
  /// @param launch  the command's own rank, if it has one
  /// @param session  must outlive it
  JobProcesses(std::string spool_folder, std::vector<std::string> words, const Launch& launch, Session& session);

  /// Begins to record new processes, drains the spools, and finishes the traces of processes that have ended. Returns
  /// the number of records.
  Expected<std::size_t> drain(const Command& command);
  /// Ends the recording of processes that are still alive, and waits until all traces are where they belong.
  void abandon_rest();

 private:
  void find_new(const Command& command);
  void open(const std::string& path, const spool::ProcessFacts& facts, const Command& command);
  void finish_earlier_image(const spool::ProcessFacts& facts);
  void finish_ended(const Command& command);
  void finish(RecordedProcess& process, const std::string& exit);
  [[nodiscard]] std::vector<std::string> words_of(pid_t pid) const;

  const std::string spool_folder_;
  const std::vector<std::string> words_;
  const Launch launch_;
  Session& session_;
  SpoolKeeper keeper_;
  std::set<pid_t> seen_pids_;  ///< processes that have a spool or have reported why not
  UnseenProcesses unseen_;
  std::chrono::steady_clock::time_point last_search_{};
  bool saw_command_end_ = false;
  std::set<std::string> seen_;  ///< files
};

}  // namespace dcmt::recorder
