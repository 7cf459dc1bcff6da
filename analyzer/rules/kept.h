// What stands at a device's peak, or when the memory was last read, although it was made in an earlier step, and who
// holds it.
#pragma once

#include <vector>

#include "analyzer/rules/finding.h"
#include "analyzer/rules/remarks.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

/// One remark for each variable or container that holds at least a hundredth of the peak, at either of the two,
/// most bytes first, at most three. Parameters, gradients, states of optimizers, buffers, what autograd saved and what
/// releases are judged by do not count, nor what the first step made, except in its backward, nor what a finding has,
/// nor at the last reading what a plain variable has. What the first backward made counts at the peak only: a buffer,
/// say, that the optimizer's step does not need. Whether anything reads the storages again is not known.
/// Of each peak, which is that of one device, in their order.
[[nodiscard]] std::vector<Remark> kept(const TraceData& data, const std::vector<Peak>& peaks,
                                       const std::vector<Finding>& findings);

}  // namespace dcmt::analyzer
