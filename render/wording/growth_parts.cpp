#include "render/wording/growth_parts.h"

#include <fmt/format.h>

namespace dcmt::wording {
namespace {

void add_statements(const char* first, const char* other, const std::vector<analyzer::StoringStatement>& statements,
                    const Form& form, LabelledLines& facts) {
  if (statements.size() > form.most) return;
  for (const analyzer::StoringStatement& each : statements) {
    facts.push_back({&each == statements.data() ? first : other, each.site + "   " + each.text});
  }
}

/// Why a predicted peak is not the value.
/// @param is_used  the statement that uses what grows stands in the line before
std::string_view why_of(analyzer::PredictedAs predicted, bool is_used) {
  switch (predicted) {
    case analyzer::PredictedAs::kMost:
      return "memory still grows, or more goes with it";
    case analyzer::PredictedAs::kAbout:
      return is_used ? "what this needs has to stay, and more goes with it" : "how much of it has to stay is not known";
    case analyzer::PredictedAs::kLeast:
    case analyzer::PredictedAs::kValue:
      break;
  }
  return is_used ? "what this needs has to stay" : "some of it may have to stay";
}

}  // namespace

std::string short_name(std::string_view holder) {
  const std::size_t root = holder.find(": ");
  return std::string(root == std::string_view::npos ? holder : holder.substr(root + 2));
}

void add_stored_by(const std::vector<analyzer::StoringStatement>& stored_by,
                   const std::vector<analyzer::StoringStatement>& called_at, const Form& form, LabelledLines& facts) {
  add_statements("added at", "or at", stored_by, form, facts);
  add_statements("called at", "", called_at, form, facts);
}

std::string_view bound_text(analyzer::PredictedAs predicted) {
  switch (predicted) {
    case analyzer::PredictedAs::kLeast:
      return "at least ";
    case analyzer::PredictedAs::kMost:
      return "at most ";
    case analyzer::PredictedAs::kAbout:
      return "about ";
    case analyzer::PredictedAs::kValue:
      break;
  }
  return "";
}

void add_bounds(const model::ReportedFinding& finding, const Form& form, LabelledLines& facts) {
  const auto& used_at = finding.growth->used_at;
  if (!used_at.empty()) {
    const std::string more = used_at.size() > 1 ? fmt::format("   {} more", used_at.size() - 1) : std::string();
    facts.push_back({"used at", used_at.front().site + "   " + used_at.front().text + more});
  }
  if (!finding.predicted_peak || finding.predicted_as == analyzer::PredictedAs::kValue) return;
  const bool is_most = finding.predicted_as == analyzer::PredictedAs::kMost;
  const bool is_used = !is_most && !used_at.empty();
  const std::string all = finding.predicted_if_used && !is_most ? fmt::format(", {} if all stays until this runs next",
                                                                              form.bytes(*finding.predicted_if_used))
                                                                : std::string();
  facts.push_back({is_used ? "" : "without",
                   fmt::format("{}: the peak is {}{}{}", why_of(finding.predicted_as, is_used),
                               bound_text(finding.predicted_as), form.bytes(*finding.predicted_peak), all)});
}

}  // namespace dcmt::wording
