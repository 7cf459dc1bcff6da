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

void add_used_at(const std::vector<analyzer::StoringStatement>& used_at, const std::optional<Bytes>& predicted_peak,
                 const std::optional<Bytes>& predicted_if_used, const Form& form, LabelledLines& facts) {
  if (used_at.empty()) return;
  const std::string more = used_at.size() > 1 ? fmt::format("   {} more", used_at.size() - 1) : std::string();
  facts.push_back({"used at", used_at.front().site + "   " + used_at.front().text + more});
  if (predicted_peak) {
    const std::string all = predicted_if_used
                                ? fmt::format(", {} if all stays until this runs next", form.bytes(*predicted_if_used))
                                : std::string();
    facts.push_back(
        {"", fmt::format("what this needs has to stay: the peak is {} at least{}", form.bytes(*predicted_peak), all)});
  }
}

}  // namespace dcmt::wording
