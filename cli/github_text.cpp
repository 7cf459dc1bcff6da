#include <fmt/format.h>

#include "cli/check_reports.h"

namespace dcmt::cli {
namespace {

using gate::CheckedFact;
using gate::Unit;

/// Escapes the message of a workflow command, or, with `property`, a value before it.
std::string escaped(std::string_view text, bool property) {
  std::string result;
  for (const char c : text) {
    if (c == '%' || c == '\n' || c == '\r' || (property && (c == ':' || c == ','))) {
      result += fmt::format("%{:02X}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result;
}

/// Escapes a cell of a table.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '`' || c == '<') result += '\\';
    result += c;
  }
  return result;
}

std::string row(const CheckedFact& fact) {
  const auto number = [&](std::int64_t value) { return grouped(value) + (fact.unit == Unit::kBytes ? " B" : ""); };
  std::string place;
  if (!fact.causes.empty()) place = cause_text(fact, fact.causes.front());
  return fmt::format("| {} {} | {} | {} | {} | {} |\n", fact.failed ? "❌" : "✅", cell(fact.name),
                     fact.baseline ? number(*fact.baseline) : "", number(fact.now), name_of(fact.state), cell(place));
}

}  // namespace

std::string github_text(const std::vector<Checked>& checks) {
  std::string text;
  for (const Checked& checked : checks) {
    for (const Problem& problem : problems_by_line(checked)) {
      text += fmt::format("::{} ", checked.only_warns() ? "warning" : "error");
      // Without a line of the program, the mark is at the baseline.
      const std::string file = problem.file.empty() ? path_from_here(checked.verdict.baseline) : problem.file;
      text += fmt::format("file={},line={},title={}::{}\n", escaped(file, true), problem.line > 0 ? problem.line : 1,
                          escaped("memory: " + problem.name, true), escaped(problem.text, false));
    }
    for (const std::string& warning : checked.verdict.warnings) {
      text += fmt::format("::warning file={},title=memory::{}\n",
                          escaped(path_from_here(checked.verdict.baseline), true), escaped(warning, false));
    }
  }
  return text;
}

std::string markdown_text(const std::vector<Checked>& checks) {
  std::string text = "## Memory\n";
  for (const Checked& checked : checks) {
    const gate::Verdict& verdict = checked.verdict;
    text += fmt::format("\n**{}** {} ({})\n", outcome_text(verdict.outcome), cell(headline_of(verdict)),
                        cell(verdict.baseline));
    std::string rows;
    for (const CheckedFact& fact : verdict.facts) {
      if (!fact.is_as_before()) rows += row(fact);
    }
    if (!rows.empty()) text += "\n| fact | baseline | now | | where |\n|---|--:|--:|---|---|\n" + rows;
    for (const std::string& reason : verdict.reasons) text += "\n- " + cell(reason);
    for (const std::string& warning : verdict.warnings) text += "\n- " + cell(warning);
    if (!verdict.reasons.empty() || !verdict.warnings.empty()) text += "\n";
    if (verdict.outcome != gate::Outcome::kPassed && !checked.advice.update.empty()) {
      text +=
          fmt::format("\nIntended? Run this and commit {}:\n\n    {}\n", cell(verdict.baseline), checked.advice.update);
    }
  }
  return text;
}

}  // namespace dcmt::cli
