// What checks say, in the formats of CI systems.
#pragma once

#include <string>
#include <vector>

#include "analyzer/gate/verdict.h"
#include "cli/check_text.h"

namespace dcmt::cli {

/// A check as reports have it.
struct Checked {
  gate::Verdict verdict;
  CheckAdvice advice;

  /// Of a check that did not pass and whose exit code is 0: it warns.
  [[nodiscard]] bool only_warns() const { return verdict.outcome != gate::Outcome::kPassed && advice.exit_code == 0; }
};

/// JUnit XML: a suite for each baseline, a case for each fact, and one named "recording" for what is of no fact.
[[nodiscard]] std::string junit_text(const std::vector<Checked>& checks);
/// SARIF 2.1.0. `version`: of the tool.
[[nodiscard]] std::string sarif_text(const std::vector<Checked>& checks, const std::string& version);
/// Workflow commands of GitHub, a line each, that mark lines of the source.
[[nodiscard]] std::string github_text(const std::vector<Checked>& checks);
/// The summary of a job, in Markdown.
[[nodiscard]] std::string markdown_text(const std::vector<Checked>& checks);

/// Something that did not pass: a fact, or a reason of the whole check.
struct Problem {
  std::string name;  ///< of the fact; "recording"
  std::string text;  ///< one line
  std::string file;  ///< where it comes from, as seen from the working folder; empty: not known
  std::int64_t line = 0;
};
[[nodiscard]] std::vector<Problem> problems_of(const Checked& checked);

}  // namespace dcmt::cli
