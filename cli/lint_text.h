// What `lint` found, for people and for machines (docs/json.md).
#pragma once

#include <string>
#include <vector>

#include "analyzer/generated/operator_aliases.h"
#include "cli/json_values.h"
#include "cli/text.h"
#include "cli/undeleted_names.h"

namespace dcmt::cli {

/// One generated file that was looked at.
struct LintedFile {
  std::string path;
  std::string trace;  ///< that has a copy of it; empty: it was read itself
  std::string error;  ///< why it cannot be parsed; empty: it was
  std::vector<UndeletedStorage> storages;
};

/// An operator that a trace has calls of.
struct LintedOperator {
  std::string trace;
  analyzer::OperatorAliases aliases;
};

struct Linted {
  std::vector<LintedFile> files;
  std::vector<LintedOperator> operators;

  [[nodiscard]] bool found() const;
};

[[nodiscard]] std::string lint_text(const Linted& linted, const Style& style);
[[nodiscard]] Json lint_json(const Linted& linted);

}  // namespace dcmt::cli
