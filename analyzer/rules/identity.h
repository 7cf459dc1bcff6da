// The identities of the findings of a trace.
#pragma once

#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/rules/finding.h"

namespace dcmt::analyzer {

/// Gives each finding its identity. Findings that differ only in their holders share one place, so that the place does
/// not depend on which releases had a census. If they have several places, the place is "[*]".
void identify(const TraceData& data, std::vector<Finding>& findings);

}  // namespace dcmt::analyzer
