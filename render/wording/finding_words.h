// A finding in words.
#pragma once

#include <string>

#include "analyzer/model/findings.h"
#include "render/wording/finding_title.h"
#include "render/wording/words.h"

namespace dcmt::wording {

/// `path`: of the trace; used in the command that shows the finding's storage.
[[nodiscard]] FindingWords finding_words(const std::string& path, const model::ReportedFinding& finding,
                                         const Form& form);
/// The command that shows more about the finding.
[[nodiscard]] std::string next_command(const std::string& path, const model::ReportedFinding& finding);

}  // namespace dcmt::wording
