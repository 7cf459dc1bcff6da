// Groups of live blocks as text for people.
#pragma once

#include <cstddef>
#include <string>

#include "analyzer/model/live_set.h"
#include "cli/text.h"

namespace dcmt::cli {

/// A table of at most `most` groups, each with the id of its largest storage.
[[nodiscard]] std::string group_table(const model::Groups& all, analyzer::GroupBy by, std::size_t most,
                                      const Style& style);

/// The command that shows a storage of the table; empty if the table has none.
[[nodiscard]] std::string next_storage_line(const model::Groups& all, const std::string& path);

}  // namespace dcmt::cli
