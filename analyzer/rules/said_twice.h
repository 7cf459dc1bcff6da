// Growth that several rules have found.
#pragma once

#include <vector>

#include "analyzer/load/trace_data.h"
#include "analyzer/rules/finding.h"

namespace dcmt::analyzer {

/// Of findings that report the same growth, keeps the one that says more: that names the holder, or storages.
void drop_said_twice(const TraceData& data, std::vector<Finding>& findings);

}  // namespace dcmt::analyzer
