// Late releases: a thread that takes no part in the training still held the storage, and let go of it soon.
#pragma once

#include <string>
#include <vector>

#include "analyzer/releases/releases.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

/// Gives the verdict kLate to residual releases whose storage was freed by a thread that neither gathers nor releases
/// nor runs a backward (a worker of gloo, the watchdog of NCCL, a thread that saves a checkpoint): within the step, or
/// at most half a step later, since such a thread does not stop at the end of a step. They stay residual only if
/// they raise the peak of most steps. Sets `let_go_by`.
void judge_late(const TraceData& data, Releases& releases);

/// The releases that judge_late() has found.
[[nodiscard]] std::vector<const ReleaseRow*> late_releases(const Releases& releases);

/// "pt_gloo_runloop (thread 4711, of torch's gloo)"
[[nodiscard]] std::string describe_thread(const TraceData& data, ThreadId thread);

}  // namespace dcmt::analyzer
