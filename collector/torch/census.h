// A census: who holds this storage at this moment, as far as can be said without stopping anybody.
#pragma once

#include <cstdint>

#include "trace/wire/records.h"

namespace dcmt::torch_provider {

/// Once, before the first census. False if this torch does not export what is looked for.
bool prepare_census() noexcept;

/// Writes CensusBegin, the sharing set with its counts, the Python locals that name its tensors, and CensusEnd.
/// `storage` must be alive for the duration: the caller's thread has just seen it so. Budget: 50 µs.
void take_census(wire::CensusTrigger trigger, const void* storage, std::int64_t graph, std::int64_t key) noexcept;

}  // namespace dcmt::torch_provider
