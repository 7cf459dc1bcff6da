// The parts of a finding in words, and its title.
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

/// "RELEASE KEEPS STORAGE".
[[nodiscard]] std::string finding_title(const model::ReportedFinding& finding);

}  // namespace dcmt::wording
