// Where a run goes that was given no folder, and which run is the newest.
#pragma once

#include <string>
#include <vector>

#include "trace/base/status.h"

namespace dcmt::cli {

/// The folder that holds them, below the current one.
inline constexpr char kRunsFolder[] = "dc-memtrace-out";

/// The program that a command runs: "train" of `python -u ci/train.py --fast`, of `torchrun train.py` and of
/// `python -m train`; else the command's first word.
[[nodiscard]] std::string program_of(const std::vector<std::string>& command);

/// "dc-memtrace-out/train-20261127-011800", which is not there yet. Ranks that one launcher starts, each under a run of
/// its own, have to agree without a word between them: theirs has no time.
[[nodiscard]] std::string default_folder(const std::string& program, bool launched_with_others);

/// The folder of the run that began last, of those in the current folder and in kRunsFolder. kBadInput if there is
/// none.
[[nodiscard]] Expected<std::string> newest_run();

/// What a path stands for: the newest run, if it is "last" and no file has that name; else itself.
[[nodiscard]] Expected<std::string> run_named(const std::string& path);

}  // namespace dcmt::cli
