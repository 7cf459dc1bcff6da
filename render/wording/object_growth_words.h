// Collections of Python objects that grow, in words.
#pragma once

#include <string>

#include "analyzer/model/report.h"
#include "render/wording/finding_title.h"

namespace dcmt::wording {

/// "Python objects grow by 1.2 MiB a step, held by records. "; empty if none do.
[[nodiscard]] std::string object_growth_sentence(const model::Report& report, const Form& form);

[[nodiscard]] FindingWords object_growth_words(const model::ReportedFinding& finding, const Form& form);

}  // namespace dcmt::wording
