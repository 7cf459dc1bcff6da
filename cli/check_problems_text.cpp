// The problems of a check, one line each.
#include <algorithm>

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

std::vector<Problem> problems_by_line(const Checked& checked) {
  std::vector<Problem> lines;
  std::vector<Problem> others;
  for (Problem& problem : problems_of(checked)) {
    const auto same = std::ranges::find_if(
        lines, [&](const Problem& each) { return each.file == problem.file && each.line == problem.line; });
    if (problem.name == "recording" || (!problem.file.empty() && same == lines.end())) {
      lines.push_back(std::move(problem));
    } else if (problem.file.empty()) {
      others.push_back(std::move(problem));
    } else {
      same->name += ", " + problem.name;
      same->text += "; " + problem.text.substr(0, problem.text.find(". "));
    }
  }
  for (const Problem& each : others) {
    if (lines.empty()) {
      lines.push_back(each);
      continue;
    }
    lines.front().name += ", " + each.name;
    lines.front().text += "; " + each.text;
  }
  return lines;
}

}  // namespace dcmt::cli
