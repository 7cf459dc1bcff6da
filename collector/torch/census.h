// A census: who holds this storage at this moment, as far as can be said without stopping anybody.
#pragma once

#include <cstdint>

#include "collector/torch/key_table.h"
#include "trace/wire/records.h"

namespace dcmt::torch_provider {

/// Once, before the first census. False if this torch does not export what is looked for.
bool prepare_census() noexcept;

/// Writes CensusBegin, the sharing set with its counts, the Python locals that name its tensors, and CensusEnd.
/// `storage` was alive a moment ago. If another thread ends it meanwhile, the census says that it is unstable, or is
/// not written. Budget: 50 µs.
/// @param key  whose storage it is, its KeyGuard owned; 0: nobody's, and the caller keeps it alive
void take_census(wire::CensusTrigger trigger, const void* storage, KeyIndex key) noexcept;

}  // namespace dcmt::torch_provider
