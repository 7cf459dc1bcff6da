// A finding in words.
#pragma once

#include <string>

#include "analyzer/model/findings.h"
#include "render/wording/words.h"

namespace dcmt::wording {

struct FindingWords {
  std::string title;  ///< "RELEASE KEEPS STORAGE"
  std::string about;  ///< the rest of its first line, which begins with spaces: of what, how much
  LabelledLines facts;
};

/// `path`: of the trace; used in the command that shows the finding's storage.
[[nodiscard]] FindingWords finding_words(const std::string& path, const model::ReportedFinding& finding,
                                         const Form& form);
/// "RELEASE KEEPS STORAGE".
[[nodiscard]] std::string finding_title(const model::ReportedFinding& finding);
/// The command that shows more about the finding.
[[nodiscard]] std::string next_command(const std::string& path, const model::ReportedFinding& finding);

}  // namespace dcmt::wording
