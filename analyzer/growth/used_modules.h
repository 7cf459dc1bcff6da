// Parameters that are in use: their modules still run.
#pragma once

#include "analyzer/growth/growing_sites.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {

/// Leaves out places that make the parts of a larger model, which is no leak: an ensemble, to which each round adds a
/// member, and all of whose members run at the end.
///
/// Most of the place's storages have to be of modules that still make blocks when the latest module that runs has been
/// made. Of several storages of one kind that a module had one after the other, only the latest counts. Modules with
/// buffers alone, such as parametrizations that are registered on top of each other, learn nothing: they are no larger
/// model. Where nothing says which modules run, parameters are in use if all of them have gradients of the latest
/// round. An optimizer's state is in use if as many
/// parameters had gradients when the latest of it was made: layers that are unfrozen one after the other.
void leave_out_used(const TraceData& data, GrowingSites& growing);

}  // namespace dcmt::analyzer
