// Memory that grows, in words.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/model/report.h"
#include "render/wording/finding_title.h"

namespace dcmt::wording {

/// "Memory grows by 1.5 MiB a step, held by probe.seen and losses. "; empty if nothing grows.
[[nodiscard]] std::string growth_sentence(const model::Report& report, const Form& form);

[[nodiscard]] FindingWords growth_words(const model::ReportedFinding& finding, const Form& form);
/// A finding about memory that is not torch's.
[[nodiscard]] FindingWords outside_growth_words(const model::ReportedFinding& finding, const Form& form);

}  // namespace dcmt::wording
