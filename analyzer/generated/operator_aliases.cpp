#include "analyzer/generated/operator_aliases.h"

#include <algorithm>
#include <map>
#include <utility>

#include "trace/base/printable.h"
#include "trace/sql/schema.h"
#include "trace/tables/sums.h"

namespace dcmt::analyzer {
namespace {

struct Masks {
  std::uint64_t declared = 0, observed = 0;
};

OperatorAliases aliases_of(const std::string& name, const std::string& schema, const Masks& masks) {
  OperatorAliases found{name, schema, {}};
  for (std::int64_t output = 0; output < 8; ++output) {
    for (std::int64_t argument = 0; argument < 8; ++argument) {
      const std::uint64_t bit = std::uint64_t{1} << (8 * output + argument);
      if (((masks.declared | masks.observed) & bit) == 0) continue;
      found.facts.push_back({output, argument, argument_name(schema, argument), (masks.declared & bit) != 0,
                             (masks.observed & bit) != 0});
    }
  }
  return found;
}

}  // namespace

bool OperatorAliases::agrees() const {
  return std::all_of(facts.begin(), facts.end(),
                     [](const AliasFact& fact) { return fact.consequence() == AliasConsequence::kNone; });
}

Expected<std::vector<OperatorAliases>> operator_aliases(Database& database) {
  DCMT_ASSIGN_OR_RETURN(const int version, schema_version(database));
  if (version < OperatorAliasRow::kTable.since) return std::vector<OperatorAliases>();
  DCMT_ASSIGN_OR_RETURN(
      Statement query,
      database.prepare("SELECT n.text, s.text, declared, observed FROM operator_alias JOIN string n ON n.id = name"
                       " JOIN string s ON s.id = schema ORDER BY operator_alias.id"));
  std::map<std::pair<std::string, std::string>, Masks> all;
  for (;;) {
    DCMT_ASSIGN_OR_RETURN(const bool row, query.step());
    if (!row) break;
    Masks& masks = all[{printable(query.text(0)), printable(query.text(1))}];
    masks.declared |= static_cast<std::uint64_t>(query.integer(2));
    masks.observed |= static_cast<std::uint64_t>(query.integer(3));
  }
  std::vector<OperatorAliases> found;
  for (const auto& [key, masks] : all) found.push_back(aliases_of(key.first, key.second, masks));
  return found;
}

std::string argument_name(std::string_view schema, std::int64_t argument) {
  const std::size_t open = schema.find('(');
  if (open == std::string_view::npos) return {};
  int depth = 0;
  std::int64_t index = 0;
  std::string words;
  for (const char c : schema.substr(open + 1)) {
    if (depth == 0 && (c == ',' || c == ')')) {
      if (index == argument) break;
      if (c == ')') return {};
      ++index;
      words.clear();
      continue;
    }
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    words += c;
  }
  if (index != argument) return {};
  words = words.substr(0, words.find('='));
  const std::size_t space = words.rfind(' ');
  return space == std::string::npos ? std::string() : words.substr(space + 1);
}

std::string_view name_of(AliasConsequence consequence) {
  switch (consequence) {
    case AliasConsequence::kNone:
      return "none";
    case AliasConsequence::kEarly:
      return "early";
    case AliasConsequence::kLate:
      return "late";
  }
  return "";
}

}  // namespace dcmt::analyzer
