// What would have let a refused request fit, once the run has ended.
#pragma once

#include <string>
#include <vector>

namespace dcmt::cli {

/// Prints one line for each trace in which memory ran out and a setting of the allocator would have helped, by the
/// finding FRAGMENTED. The job waits for it, so large traces are left to `report`, as are failures.
void print_oom_remedies(const std::vector<std::string>& traces);

}  // namespace dcmt::cli
