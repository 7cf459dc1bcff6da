// A census: the current holders of a storage, as far as they can be found without stopping other threads.
#pragma once

#include <cstdint>

#include "collector/torch/state/key_table.h"
#include "trace/wire/records.h"

namespace dcmt::torch_provider {

/// Call it once before the first census. False if this torch does not export the needed symbols.
bool prepare_census() noexcept;

/// Writes CensusBegin, the sharing set with its counts, the Python locals that refer to its tensors, and CensusEnd.
/// `storage` was alive shortly before. If another thread ends it meanwhile, the census is marked as unstable, or is not
/// written. Budget: 50 µs.
/// @param key  the key of the storage, with its KeyGuard owned; 0: none, and the caller keeps the storage alive
void run_census(wire::CensusTrigger trigger, const void* storage, KeyIndex key) noexcept;

}  // namespace dcmt::torch_provider
