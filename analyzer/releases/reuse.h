// Released storages that were reused: pools keep bytes by design.
#pragma once

#include "analyzer/releases/releases.h"

namespace dcmt::analyzer {

/// Gives the verdict kRecycled to residual releases whose storage the next gather of any key uses, or which was
/// overwritten and then read; also to those whose storage waits in such a pool. A storage is in no pool if a gather
/// makes a new one of its size instead of using it: its release stays residual. Fills `releases.pools`.
void judge_reuse(const TraceData& data, Releases& releases);

}  // namespace dcmt::analyzer
