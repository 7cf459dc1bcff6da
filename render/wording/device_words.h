// Findings about a device's allocator in words: memory that ran out, blocks that wait for streams.
#pragma once

#include "render/wording/finding_title.h"

namespace dcmt::wording {

[[nodiscard]] FindingWords out_of_memory_words(const model::ReportedFinding& finding, const Form& form);
[[nodiscard]] FindingWords in_flight_words(const model::ReportedFinding& finding, const Form& form);
[[nodiscard]] FindingWords waits_words(const model::ReportedFinding& finding, const Form& form);

}  // namespace dcmt::wording
