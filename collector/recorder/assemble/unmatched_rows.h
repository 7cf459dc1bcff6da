// Finds rows of a table of operators and functions that matched nothing in a run; usually a name is misspelt.
#pragma once

#include <string>
#include <vector>

#include "collector/recorder/assemble/operator_toml.h"
#include "trace/base/status.h"

namespace dcmt::recorder {

/// One line for each such row: "my.toml:7: nothing matched ...". Reads the traces of a finished run; there may be none.
/// Fails if a trace cannot be read.
Expected<std::vector<std::string>> unmatched_rows(const std::vector<TableRow>& rows,
                                                  const std::vector<std::string>& traces);

}  // namespace dcmt::recorder
