// Finds and reads files with baselines.
#pragma once

#include <string>
#include <vector>

#include "analyzer/gate/baseline.h"
#include "trace/base/status.h"

namespace dcmt::cli {

/// `path` itself, or the baselines (*.json) of that folder, by name. kBadInput if the folder has none.
Expected<std::vector<std::string>> baselines_of(const std::string& path);

/// kBadInput if there is no such file, or if it cannot be read or parsed.
Expected<gate::Baseline> read_baseline(const std::string& path);

}  // namespace dcmt::cli
