// Storages of an earlier step that are alive at a device's peak or at the last reading of the memory, and their
// holders.
#pragma once

#include <vector>

#include "analyzer/rules/finding.h"
#include "analyzer/rules/remarks.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

/// One remark for each variable or container that holds at least a hundredth of the peak, at the peak or at the last
/// reading. At most three, most bytes first. `peaks`: one per device, in the order of the devices.
/// Not counted: parameters, gradients, states of optimizers, buffers, what autograd saved, what releases are judged by,
/// what the first step made outside of its backward, what a finding or its holder has, and at the last reading what a
/// plain variable has. Nor what each step makes and frees again. What the first backward made counts at the peak only:
/// for example a buffer that the optimizer's step does not need. Whether anything reads the storages again is unknown.
[[nodiscard]] std::vector<Remark> kept(const TraceData& data, const std::vector<Peak>& peaks,
                                       const std::vector<Finding>& findings);

}  // namespace dcmt::analyzer
