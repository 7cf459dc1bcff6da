// Groups of live blocks as a person reads them.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/model/live_set.h"
#include "cli/text.h"

namespace dcmt::cli {

/// A table of at most `most` groups.
[[nodiscard]] std::string group_table(const model::Groups& all, analyzer::GroupBy by, std::size_t most,
                                      const Style& style);

}  // namespace dcmt::cli
