// The options that `run`, `prove` and `attach` share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/parser.h"
#include "collector/recorder/drive/recording_options.h"

namespace dcmt::cli {

/// -o, --detail, --operators, --max-disk, --spool-mib, --force, --no-owners, -q. `options` must outlive the parsing.
void add_recording_options(Parser command, const std::shared_ptr<recorder::RecordingOptions>& options);

/// --live, of commands that record until something ends.
void add_live_option(Parser command, const std::shared_ptr<recorder::RecordingOptions>& options);

/// Throws UsageError if --live is given and cannot be shown.
void check_live_option(const recorder::RecordingOptions& options);

/// Sets the locations of the installation's parts that a recording needs.
void set_installed_paths(recorder::RecordingOptions& options);

/// Prepends python if the command is a Python script that the kernel would not execute or that PATH does not contain.
std::vector<std::string> with_interpreter(std::vector<std::string> command);

}  // namespace dcmt::cli
