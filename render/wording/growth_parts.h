// Parts of the words of growth that findings of several kinds share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/findings.h"
#include "render/wording/words.h"

namespace dcmt::wording {

/// "probe.seen": the name that people use, without the function that has it.
[[nodiscard]] std::string short_name(std::string_view holder);

/// Adds the statements that filled a container. They are found by text: a single one is probably the right one; of
/// several, nothing shows which one it was.
void add_stored_by(const std::vector<analyzer::StoringStatement>& stored_by,
                   const std::vector<analyzer::StoringStatement>& called_at, const Form& form, LabelledLines& facts);

/// "at least ", "at most " or "about ", before a predicted peak; empty: it is the value.
[[nodiscard]] std::string_view bound_text(analyzer::PredictedAs predicted);

/// Adds the statements that use a container's entries, and what is only a bound of the predicted peak.
void add_bounds(const model::ReportedFinding& finding, const Form& form, LabelledLines& facts);

}  // namespace dcmt::wording
