// Whether what leads to the storages of a growth leads to nearly all of them: then it is one cause, and goes with it.
#pragma once

#include "analyzer/growth/growth.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// A storage is freed with the growth if each way that the latest reading found to it leads to nearly all that were
/// read: slices of one array in a list, or the frames of one thread. One reading of only a few says nothing.
/// @param in_container  the holder is one
void free_what_the_same_ways_lead_to(const TraceData& data, bool in_container, Growth& growth);

}  // namespace dcmt::analyzer
