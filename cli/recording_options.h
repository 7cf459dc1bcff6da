// The options that `run` and `attach` share.
#pragma once

#include <memory>

#include "cli/parser.h"
#include "collector/recorder/drive/recording_options.h"

namespace dcmt::cli {

/// -o, --detail, --operators, --max-disk, --spool-mib, --force, --no-owners, -q. `options` must outlive the parsing.
void add_recording_options(Parser command, const std::shared_ptr<recorder::RecordingOptions>& options);

/// Sets the locations of the installation's parts that a recording needs.
void set_installed_paths(recorder::RecordingOptions& options);

}  // namespace dcmt::cli
