// Settings of torch's CUDA allocator that had no effect on a run.
#pragma once

#include <vector>

#include "analyzer/rules/remarks.h"

namespace dcmt::analyzer {

/// One remark for each setting. Of those that torch has taken, only where the model of the allocator follows the run.
[[nodiscard]] std::vector<Remark> remarks_of_settings(const TraceData& data);

}  // namespace dcmt::analyzer
