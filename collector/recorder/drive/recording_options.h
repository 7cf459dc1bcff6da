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

/// Where storages are made whose reference counts are to be watched: a line, or, without a file, a parameter's gathers.
struct WatchedPlace {
  std::string file;  ///< the end of its path
  std::int64_t line = 0;
  std::int64_t graph = 0, key = 0;
};

struct RecordingOptions {
  std::string folder = "dc-memtrace-out";  ///< folder of the traces
  std::string scratch;                     ///< write traces below this folder first; empty: only where that is needed
  Detail detail = Detail::kLifetimes;
  std::vector<std::string> operator_tables;  ///< the user's tables, in order; the shipped one comes after them
  std::string shipped_operators;             ///< path of the shipped table
  std::string prepared;                      ///< folder of the providers made on this machine; empty: none
  scan::LayoutFolders layouts;               ///< folders of torch's layouts
  std::vector<WatchedPlace> watch;           ///< reference counts to watch
  std::uint32_t spool_mib = 64;              ///< shared memory per traced process
  RetentionOptions retention;                ///< what a trace keeps of a long run
  bool owners = true;                        ///< read the memory of processes to find the owners of storages
  /// How many seconds a program waits at its end for a reading, at most, beside a share of its time; 0: it does not.
  int exit_wait = agent::kDefaultExitWait;
  bool native = false;    ///< sample what is allocated beside torch
  bool streams = false;   ///< record work on streams of GPUs; in `full`
  bool gpu_work = false;  ///< record each kernel, copy and fill on GPUs; in `full`
  bool holds = true;      ///< hold programs for readings at points of their work
  bool replace = false;   ///< replace a run in the folder
  bool quiet = false;     ///< no status line
  bool live = false;      ///< a view of several rows in place of the status line

  /// All tables of operators.
  [[nodiscard]] std::vector<std::string> all_tables() const {
    std::vector<std::string> tables = operator_tables;
    tables.push_back(shipped_operators);
    return tables;
  }
  /// What the agent reads of `watch`, after the tables.
  [[nodiscard]] std::string watch_lines() const {
    std::string lines;
    for (const WatchedPlace& place : watch) {
      lines += place.file.empty() ? "watch\tkey\t" + std::to_string(place.graph) + "\t" + std::to_string(place.key)
                                  : "watch\tsite\t" + place.file + "\t" + std::to_string(place.line);
      lines += "\n";
    }
    return lines;
  }
};

}  // namespace dcmt::recorder
