#include "analyzer/source/parameters.h"

#include <algorithm>
#include <set>

namespace dcmt::analyzer {
namespace {

/// True for "league" of a variable, and "self.league" of an attribute.
bool is_target(std::string_view argument, const PathEnd& target) {
  if (argument == target.name) return !target.attribute;
  const std::size_t dot = argument.rfind('.');
  const bool is_attribute = target.attribute || target.function.empty();
  return is_attribute && dot != npos && argument.substr(dot + 1) == target.name &&
         std::ranges::all_of(argument, [](char letter) { return is_of_name(letter) || letter == '.'; });
}

std::string_view without_default(std::string_view parameter) {
  return trimmed(parameter.substr(0, parameter.find_first_of(":=")));
}

/// "net", "n=4" and "path=[]" of "def sample(net, n=4, path=[]):"; empty: it has no whole list.
std::vector<std::string_view> parameters_of(std::string_view definition) {
  const std::size_t open = std::min(definition.find('('), definition.size());
  const std::size_t behind = behind_brackets(definition, open);
  if (behind == npos) return {};
  return parts_of(definition.substr(open + 1, behind - open - 2), ",");
}

}  // namespace

std::vector<Argument> arguments_with(std::string_view code, const PathEnd& target) {
  std::vector<Argument> found;
  for (std::size_t open = code.find('('); open != npos; open = code.find('(', open + 1)) {
    const std::size_t behind = behind_brackets(code, open);
    const auto name_begin = std::find_if_not(code.rend() - static_cast<std::ptrdiff_t>(open), code.rend(), is_of_name);
    const std::string_view function(name_begin.base(), code.begin() + static_cast<std::ptrdiff_t>(open));
    if (behind == npos || !is_name(function)) continue;
    const std::string_view before = code.substr(0, open - function.size());
    if (trimmed(before).ends_with("def") || trimmed(before).ends_with("class")) continue;
    std::size_t position = 0;
    for (const std::string_view each : parts_of(code.substr(open + 1, behind - open - 2), ",")) {
      if (each.starts_with('*')) break;  // how many it stands for is not known
      const std::size_t equal = equal_sign(each, 0);
      const std::string_view keyword = equal == npos ? std::string_view() : trimmed(each.substr(0, equal));
      if (is_target(trimmed(each.substr(equal == npos ? 0 : equal + 1)), target))
        found.push_back({function, before.ends_with('.'), position, keyword});
      position += equal == npos ? 1 : 0;
    }
  }
  return found;
}

std::string_view parameter_for(std::string_view definition, const Argument& argument) {
  std::size_t position = 0;
  bool by_position = true;
  for (const std::string_view each : parameters_of(definition)) {
    const std::string_view name = without_default(each);
    if (name == "/") continue;
    if (name.starts_with('*')) {
      by_position = false;
      continue;
    }
    if (position == 0 && argument.of_object && (name == "self" || name == "cls") && by_position) continue;
    const bool gets =
        argument.keyword.empty() ? by_position && position == argument.position : name == argument.keyword;
    if (gets) return name;
    ++position;
  }
  return {};
}

std::string_view parameter_with_default(std::string_view definition, std::size_t number) {
  std::size_t at = 0;
  for (const std::string_view parameter : parameters_of(definition)) {
    const std::string_view each = trimmed(parameter);
    if (each.starts_with('*')) return {};
    if (equal_sign(each, 0) != npos && at++ == number) return without_default(each);
  }
  return {};
}

std::vector<std::string_view> definitions_of(const PythonSource& source, std::string_view function) {
  std::vector<std::string_view> definitions;
  std::set<std::size_t> seen;  // functions
  for (const PythonSource::Line& line : source.lines()) {
    if (source.function_of(line) == function && seen.insert(line.function).second)
      definitions.push_back(source.statement_of(line));
  }
  return definitions;
}

}  // namespace dcmt::analyzer
