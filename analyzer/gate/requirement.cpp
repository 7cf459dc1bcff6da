// Requirements of a gate: the paths that must have run.
#include <charconv>
#include <string_view>

#include "analyzer/gate/judge.h"
#include "trace/base/printable.h"

namespace dcmt::gate {
namespace {

struct Requirement {
  std::string name, comparison;
  std::int64_t number = 0;

  [[nodiscard]] bool met_by(std::int64_t value) const {
    if (comparison == ">") return value > number;
    if (comparison == ">=") return value >= number;
    if (comparison == "<") return value < number;
    if (comparison == "<=") return value <= number;
    return value == number;
  }
};

std::string_view next_word(std::string_view& text) {
  const std::size_t from = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(from);
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(word.size());
  return word;
}

Expected<Requirement> parse(const std::string& text) {
  std::string_view rest = text;
  Requirement requirement;
  requirement.name = next_word(rest);
  requirement.comparison = next_word(rest);
  const std::string_view number = next_word(rest);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), requirement.number);
  const bool comparison = requirement.comparison == ">" || requirement.comparison == ">=" ||
                          requirement.comparison == "<" || requirement.comparison == "<=" ||
                          requirement.comparison == "==";
  if (!comparison || error != std::errc() || end != number.data() + number.size() || !next_word(rest).empty()) {
    return Error{ErrorCode::kUsage, "'" + printable(text) + "' is no requirement; one is: gathers.eager > 0"};
  }
  return requirement;
}

std::int64_t value_of(const Recording& recording, const std::string& name) {
  if (const Fact* fact = recording.fact(name)) return fact->value;
  std::int64_t sum = 0;
  for (const Fact& fact : recording.facts) {
    const std::string_view rest = std::string_view(fact.name).substr(std::min(name.size(), fact.name.size()));
    const bool longer = fact.name.starts_with(name) && (rest.starts_with('_') || rest.starts_with('.'));
    if (longer) sum += fact.value;
  }
  return sum;
}

}  // namespace

Status check_requirement(const std::string& text) { return parse(text).status(); }

Expected<std::vector<std::string>> unmet(const std::vector<std::string>& require, const Recording& recording) {
  std::vector<std::string> sentences;
  for (const std::string& text : require) {
    DCMT_ASSIGN_OR_RETURN(const Requirement requirement, parse(text));
    const std::int64_t value = value_of(recording, requirement.name);
    if (requirement.met_by(value)) continue;
    std::string counts;
    for (const Fact& fact : recording.facts) {
      if (fact.unit != Unit::kCount) continue;
      counts += (counts.empty() ? "" : ", ") + fact.name + " " + std::to_string(fact.value);
    }
    sentences.push_back("required " + printable(text) + ", but it is " + std::to_string(value) +
                        (counts.empty() ? "; nothing was gathered or released" : "; what ran: " + counts));
  }
  return sentences;
}

}  // namespace dcmt::gate
