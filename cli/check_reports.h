// Results of checks in the formats of CI systems.
#pragma once

#include <string>
#include <vector>

#include "analyzer/gate/verdict.h"
#include "cli/check_text.h"

namespace dcmt::cli {

/// A check with the data that reports need.
struct Checked {
  gate::Verdict verdict;
  CheckAdvice advice;
  double seconds = 0;  ///< the recordings and their comparison

  /// True for a check that did not pass, but whose exit code is 0: a warning.
  [[nodiscard]] bool only_warns() const { return verdict.outcome != gate::Outcome::kPassed && advice.exit_code == 0; }
};

/// JUnit XML: a suite for each baseline, a case for each fact, and a case "recording" for everything else.
[[nodiscard]] std::string junit_text(const std::vector<Checked>& checks);
/// SARIF 2.1.0. `version`: of the tool.
[[nodiscard]] std::string sarif_text(const std::vector<Checked>& checks, const std::string& version);
/// Workflow commands of GitHub that mark lines of the source, one per line.
[[nodiscard]] std::string github_text(const std::vector<Checked>& checks);
/// The summary of a job, in Markdown.
[[nodiscard]] std::string markdown_text(const std::vector<Checked>& checks);

/// A problem: a fact that did not pass, or a reason of the whole check.
struct Problem {
  std::string name;  ///< of the fact; else "recording"
  std::string text;  ///< one line
  std::string file;  ///< its source file, relative to the working folder; empty: unknown
  std::int64_t line = 0;
};
[[nodiscard]] std::vector<Problem> problems_of(const Checked& checked);
/// The same with one problem for each line of the program. Facts without a line join those of the first line: the bytes
/// that a line adds raise several of them.
[[nodiscard]] std::vector<Problem> problems_by_line(const Checked& checked);

}  // namespace dcmt::cli
