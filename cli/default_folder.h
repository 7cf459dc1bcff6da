// The default folder of a run, and the newest run.
#pragma once

#include <string>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::cli {

/// The folder that contains the runs, below the current folder.
inline constexpr char kRunsFolder[] = "dc-memtrace-out";

/// The word for the newest run, and the path of commands that are given none.
inline constexpr char kLastRun[] = "last";

/// The name of the program in a command: "train" for `python -u ci/train.py --fast`, `torchrun train.py` and `python -m
/// train`; else the command's first word.
[[nodiscard]] std::string program_of(const std::vector<std::string>& command);

/// "dc-memtrace-out/train-20261127-011800", a folder that does not exist yet. Ranks of one launcher, each under its own
/// `run`, must agree on the folder without communication: their folder has no time.
[[nodiscard]] std::string default_folder(const std::string& program, bool launched_with_others);

/// The folder of the run that began last, of those in the current folder and in kRunsFolder. kBadInput if there is
/// none.
[[nodiscard]] Expected<std::string> newest_run();

/// The newest run for kLastRun, unless a file has that name; else the path itself.
[[nodiscard]] Expected<std::string> run_named(const std::string& path);

}  // namespace dcmt::cli
