// What a dictionary has by keys that are tensors, as an optimizer's state of its parameters.
#pragma once

#include "analyzer/growth/growth.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// It is of use as long as the latest keys that were made before it, if these grow, too: the state of a model that is
/// trained further.
void need_as_long_as_keys(const TraceData& data, Growth& growth);

}  // namespace dcmt::analyzer
