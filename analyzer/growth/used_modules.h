// Parameters that are in use: their modules still run.
#pragma once

#include "analyzer/growth/growing_sites.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// Leaves out places most of whose storages belong to modules that make blocks after the latest that runs was made, as
/// the members of an ensemble do that is asked at the end: the program has a larger model, and no leak. Of several
/// storages of one kind that a module had one after the other, only the latest counts. Modules that only have buffers,
/// as one parametrization that is registered on top of the other, are no larger model: they learn nothing. Where
/// nothing says which modules run, parameters are in use that all have gradients of the latest turn.
void leave_out_used(const TraceData& data, GrowingSites& growing);

}  // namespace dcmt::analyzer
