// Options that `dc-memtrace run` and `attach` share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collector/agent/environment.h"
#include "collector/recorder/keep/retention_policy.h"
#include "collector/scan/layout/torch_layout.h"
#include "trace/base/detail.h"

namespace dcmt::recorder {

struct RecordingOptions {
  std::string folder = "dc-memtrace-out";  ///< folder of the traces
  std::string scratch;                     ///< write traces below this folder first; empty: only where that is needed
  Detail detail = Detail::kLifetimes;
  std::vector<std::string> operator_tables;  ///< the user's tables, in order; the shipped one comes after them
  std::string shipped_operators;             ///< path of the shipped table
  std::string prepared;                      ///< folder of the providers made on this machine; empty: none
  scan::LayoutFolders layouts;               ///< folders of torch's layouts
  std::uint32_t spool_mib = 64;              ///< shared memory per traced process
  RetentionOptions retention;                ///< what a trace keeps of a long run
  bool owners = true;                        ///< read the memory of processes to find the owners of storages
  int exit_wait = agent::kDefaultExitWait;   ///< how many seconds a program waits at its end for a reading, at most
  bool native = false;                       ///< sample what is allocated beside torch
  bool holds = true;                         ///< hold programs for readings at points of their work
  bool replace = false;                      ///< replace a run in the folder
  bool quiet = false;                        ///< no status line

  /// All tables of operators.
  [[nodiscard]] std::vector<std::string> all_tables() const {
    std::vector<std::string> tables = operator_tables;
    tables.push_back(shipped_operators);
    return tables;
  }
};

}  // namespace dcmt::recorder
