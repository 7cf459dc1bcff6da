// Released storages that were put to use again: pools keep bytes by design.
#pragma once

#include "analyzer/releases/releases.h"

namespace dcmt::analyzer {

/// Gives the verdict kRecycled to residual releases whose storage was handed to the next gather, of whatever key, or
/// overwritten and then read; and to those whose storage waits in such a pool. A storage that is passed over, while a
/// new one of its size is gathered, is in no pool: its release stays residual. Fills `releases.pools`.
void judge_reuse(const TraceData& data, Releases& releases);

}  // namespace dcmt::analyzer
