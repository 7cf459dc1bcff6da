// The files in which baselines are.
#pragma once

#include <string>
#include <vector>

#include "analyzer/gate/baseline.h"
#include "trace/base/status.h"

namespace dcmt::cli {

/// `path`, or the baselines (*.json) of that folder, by name. kBadInput if the folder has none.
Expected<std::vector<std::string>> baselines_of(const std::string& path);

/// kBadInput if there is none, or it cannot be read or understood.
Expected<gate::Baseline> read_baseline(const std::string& path);

}  // namespace dcmt::cli
