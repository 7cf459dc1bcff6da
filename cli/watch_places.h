// What `run --watch` and `attach --watch` name.
#pragma once

#include <string>
#include <vector>

#include "cli/parser.h"
#include "collector/recorder/drive/recording_options.h"
#include "trace/base/status.h"

namespace dcmt::cli {

/// Adds --watch to a command that records. Its texts are stored in `texts`.
void add_watch_option(Parser command, std::vector<std::string>& texts);

/// Sets `options.watch`, and the detail that a watch needs. Each text is FILE:LINE, TRACE#N for a finding of an earlier
/// trace, or TRACE#NAME for a parameter or a variable there.
Status set_watch(const std::vector<std::string>& texts, recorder::RecordingOptions& options);

}  // namespace dcmt::cli
