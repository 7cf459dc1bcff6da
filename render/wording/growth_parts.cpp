#include "render/wording/growth_parts.h"

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

}  // namespace dcmt::wording
