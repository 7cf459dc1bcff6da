// Findings as text for people.
#pragma once

#include <string>

#include "analyzer/model/findings.h"
#include "cli/text.h"

namespace dcmt::cli {

/// `path`: of the trace; used in the command that shows the finding's storage.
[[nodiscard]] std::string finding_text(const std::string& path, const model::Finding& finding, const Style& style);
/// The command that shows more about the finding.
[[nodiscard]] std::string next_command(const std::string& path, const model::Finding& finding);

/// "step 3", "steps 1 to 3"; empty if there are none.
[[nodiscard]] std::string steps_text(const std::vector<std::int64_t>& steps);

}  // namespace dcmt::cli
