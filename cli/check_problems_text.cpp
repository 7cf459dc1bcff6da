// The problems of a check, one line each.
#include "cli/check_reports.h"

namespace dcmt::cli {

using gate::Cause;
using gate::CheckedFact;
using gate::State;

std::vector<Problem> problems_of(const Checked& checked) {
  std::vector<Problem> problems;
  if (checked.verdict.outcome == gate::Outcome::kPassed) return problems;
  const std::string outcome(outcome_text(checked.verdict.outcome));
  for (const std::string& reason : checked.verdict.reasons) {
    problems.push_back({"recording", outcome + ": " + reason, "", 0});
  }
  if (checked.verdict.outcome != gate::Outcome::kFailed) return problems;
  for (const CheckedFact& fact : checked.verdict.facts) {
    if (!fact.failed) continue;
    Problem problem{fact.name, change_text(fact), "", 0};
    if (fact.state == State::kVacuous) problem.text += ": it did not run";
    if (fact.state == State::kGained) problem.text += ": a gain that the baseline does not have";
    if (!fact.causes.empty()) {
      const Cause& cause = fact.causes.front();
      problem.text += ". " + cause_text(fact, cause);
      problem.file = path_from_here(cause.file);
      problem.line = cause.line;
    }
    problems.push_back(std::move(problem));
  }
  return problems;
}

}  // namespace dcmt::cli
