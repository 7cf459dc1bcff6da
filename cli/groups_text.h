// Groups of live blocks as text for people.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/live_set.h"
#include "cli/text.h"

namespace dcmt::cli {

/// What `--by` asks for: "category", "module:2".
struct Grouping {
  analyzer::GroupBy by = analyzer::GroupBy::kSite;
  std::size_t depth = 0;  ///< of modules; 0: any

  /// nullopt for a word that names none.
  static std::optional<Grouping> named(const std::string& name);
};

/// What is alive in groups, as the table that fits them, and the command that shows a storage of it.
[[nodiscard]] std::string live_table(const model::LiveSet& live, const Grouping& grouping, std::size_t most,
                                     const std::string& path, const Style& style);

/// A table of at most `most` groups, each with the id of its largest storage.
[[nodiscard]] std::string group_table(const model::Groups& all, analyzer::GroupBy by, std::size_t most,
                                      const Style& style);

/// A table of at most `most` modules, with their bytes by category.
[[nodiscard]] std::string module_table(const std::vector<analyzer::ModuleGroup>& groups, std::size_t most,
                                       const Style& style);

/// The command that shows a storage of the table; empty if the table has none.
[[nodiscard]] std::string next_storage_line(const model::Groups& all, const std::string& path);

}  // namespace dcmt::cli
