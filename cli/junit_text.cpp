#include <fmt/format.h>

#include <algorithm>

#include "cli/check_reports.h"
#include "trace/base/xml_text.h"

namespace dcmt::cli {
namespace {

using gate::CheckedFact;
using gate::Outcome;

/// The case that is not a fact: making the recordings, which takes the time.
constexpr char kRecording[] = "recording";

/// The failure of a case; empty if it passed.
std::string outcome_of(const Checked& checked, const std::string& name, const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) {
    if (problem.name != name) continue;
    const bool unfit = checked.verdict.outcome == Outcome::kUnfit;
    const std::string_view element = checked.only_warns() ? "skipped" : unfit ? "error" : "failure";
    const std::string place = problem.file.empty() ? "" : fmt::format("{}:{}\n", problem.file, problem.line);
    const std::string type = checked.only_warns() ? "" : R"( type="memory")";
    text += fmt::format("      <{0} message=\"{1}\"{2}>{3}{1}</{0}>\n", element, xml_escaped(problem.text), type,
                        xml_escaped(place));
    break;  // a case can fail only once
  }
  return text;
}

std::string suite(const Checked& checked) {
  const std::vector<Problem> problems = problems_of(checked);
  const std::string suite_name = xml_escaped(checked.verdict.baseline);
  std::string cases;
  std::int64_t tests = 0;
  std::int64_t bad = 0;
  const auto add = [&](const std::string& name) {
    const std::string outcome = outcome_of(checked, name, problems);
    ++tests;
    bad += outcome.empty() ? 0 : 1;
    cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"", suite_name, xml_escaped(name),
                         name == kRecording ? checked.seconds : 0);
    cases += outcome.empty() ? "/>\n" : ">\n" + outcome + "    </testcase>\n";
  };
  add(kRecording);
  if (checked.verdict.outcome == Outcome::kPassed || checked.verdict.outcome == Outcome::kFailed) {
    for (const CheckedFact& fact : checked.verdict.facts) add(fact.name);
  }
  const bool skipped = checked.only_warns();
  const bool error = checked.verdict.outcome == Outcome::kUnfit;
  return fmt::format(
             "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\">\n",
             suite_name, tests, skipped || error ? 0 : bad, error && !skipped ? bad : 0, skipped ? bad : 0,
             checked.seconds) +
         cases + "  </testsuite>\n";
}

}  // namespace

std::string junit_text(const std::vector<Checked>& checks) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const Checked& checked : checks) text += suite(checked);
  return text + "</testsuites>\n";
}

}  // namespace dcmt::cli
