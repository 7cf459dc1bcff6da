// What `lint` found, for people and for machines (docs/json.md).
#pragma once

#include <string>
#include <vector>

#include "analyzer/generated_wrapper.h"
#include "cli/json_values.h"
#include "cli/text.h"

namespace dcmt::cli {

/// One generated file that was looked at.
struct LintedFile {
  std::string path;
  std::string trace;  ///< that has a copy of it; empty: it was read itself
  std::vector<analyzer::UndeletedStorage> storages;
};

[[nodiscard]] std::string lint_text(const std::vector<LintedFile>& files, const Style& style);
[[nodiscard]] Json lint_json(const std::vector<LintedFile>& files);

}  // namespace dcmt::cli
