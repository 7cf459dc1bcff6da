// Memory that forked children do not share with their parent, in words.
#pragma once

#include <string>

#include "analyzer/model/report.h"
#include "render/wording/finding_title.h"

namespace dcmt::wording {

/// "2 forked children have copied 140 MiB of main: data.rows. "; empty if none have.
[[nodiscard]] std::string forked_sentence(const model::Report& report, const Form& form);

[[nodiscard]] FindingWords forked_words(const model::ReportedFinding& finding, const Form& form);

/// "2 forked children (pt_data_worker)"; one child that others have followed: "1 forked child (pt_data_worker) at a
/// time".
[[nodiscard]] std::string children_text(const analyzer::ForkedChildren& children);

}  // namespace dcmt::wording
