// Results of checks as text for people.
#pragma once

#include <string>
#include <vector>

#include "analyzer/gate/verdict.h"
#include "cli/text.h"

namespace dcmt::cli {

/// Commands that the user can run next.
struct CheckAdvice {
  std::string redo;    ///< the command that compares again
  std::string update;  ///< the command that accepts the current values
  int exit_code = 0;
};

/// A verdict in a few lines.
[[nodiscard]] std::string check_text(const gate::Verdict& verdict, const CheckAdvice& advice, const Style& style);

/// "peak.forward +1,048,576 B (+9.1 %)".
[[nodiscard]] std::string change_text(const gate::CheckedFact& fact);
/// "train.py:23 step: +1,048,576 B, 100 % of the growth, held by main: kept"; empty without a cause.
[[nodiscard]] std::string cause_text(const gate::CheckedFact& fact, const gate::Cause& cause);
/// The changes that --update has accepted: a check of the recordings against the previous baseline.
[[nodiscard]] std::string updated_text(const gate::Verdict& accepted, const Style& style);
/// "PASS", "FAIL", "NOT COMPARABLE", "NO VERDICT".
[[nodiscard]] std::string_view outcome_text(gate::Outcome outcome);
/// A file relative to the working folder, if it lies below it.
[[nodiscard]] std::string path_from_here(const std::string& file);
/// The reason why a check did not pass, in one line.
[[nodiscard]] std::string headline_of(const gate::Verdict& verdict);

}  // namespace dcmt::cli
