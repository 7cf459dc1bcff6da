// The begins of paths in the program's own C++ code: its static variables, and those of running functions.
#pragma once

#include <span>
#include <vector>

#include "collector/scan/graph/roots.h"
#include "collector/scan/objects/cpp_variable.h"

namespace dcmt::scan {

/// Of the variables that exist.
[[nodiscard]] std::vector<NamedRoot> cpp_roots(std::span<const CppVariable> variables, Mirror& memory,
                                               ProcessTypes& types);

}  // namespace dcmt::scan
