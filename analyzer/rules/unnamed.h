// What a variable has kept since before the first step ended, though no later line names the variable.
#pragma once

#include <vector>

#include "analyzer/rules/remarks.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {

/// One remark for each variable of the program's own file that holds at least a hundredth of the peak there and to the
/// end of the last step, such as the dictionary from which a model was loaded. Nothing else may have been found to hold
/// the storages. Only variables whose lines are known: globals of the program, and those of functions that run in
/// later steps. A line in a loop that runs then counts as later, and each line of a function that could use the
/// variable. At most three, most bytes first. `peaks`: one per device, in the order of the devices.
[[nodiscard]] std::vector<Remark> unnamed(const TraceData& data, const std::vector<Peak>& peaks);

}  // namespace dcmt::analyzer
