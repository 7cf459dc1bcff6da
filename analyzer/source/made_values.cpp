#include "analyzer/source/made_values.h"

#include <algorithm>
#include <functional>

namespace dcmt::analyzer {
namespace {

bool has_one(std::string_view code, const std::set<std::string_view>& names) {
  return std::ranges::any_of(names, [code](std::string_view name) { return has_name(code, name); });
}

/// True if the arguments have one of the variables itself, also in a list or the like: "(x, [y])", but not "(y.item(),
/// float(y))".
bool have_itself(std::string_view arguments, const std::set<std::string_view>& names) {
  constexpr std::string_view kBefore = "([{,=*:", kBehind = ")]},:";
  std::vector<bool> passes;  // for each open bracket: it is not of a call or an index within the arguments
  char before = ' ';         // the last character that is no space
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const char each = arguments[at];
    if (is_of_name(each)) {
      const std::size_t from = at;
      while (at + 1 < arguments.size() && is_of_name(arguments[at + 1])) ++at;
      const std::size_t next = arguments.find_first_not_of(" \t\n", at + 1);
      const bool is_itself = kBefore.find(before) != npos && next != npos && kBehind.find(arguments[next]) != npos;
      const std::string_view name = arguments.substr(from, at + 1 - from);
      if (is_itself && names.contains(name) && std::ranges::find(passes, false) == passes.end()) return true;
      before = arguments[at];
      continue;
    }
    if (each == '(' || each == '[' || each == '{')
      passes.push_back(at == 0 || !(is_of_name(before) || before == ')' || before == ']'));
    if ((each == ')' || each == ']' || each == '}') && !passes.empty()) passes.pop_back();
    if (each != ' ' && each != '\t' && each != '\n') before = each;
  }
  return false;
}

/// True for `a.b[0](x)`, and nothing around it, if a call in it has arguments for which `has` is true.
bool calls_with(std::string_view part, const std::function<bool(std::string_view)>& has_value) {
  if (part.starts_with("await ")) part = trimmed(part.substr(6));
  bool has = false;
  std::size_t at = 0;
  while (at < part.size()) {
    if (part[at] == '(' || part[at] == '[') {
      const std::size_t end = at > 0 ? behind_brackets(part, at) : npos;
      if (end == npos) return false;
      has |= part[at] == '(' && has_value(part.substr(at, end - at));
      at = end;
    } else if (is_of_name(part[at]) || (part[at] == '.' && at > 0)) {
      ++at;
    } else {
      return false;
    }
  }
  return has && part.ends_with(')');
}

/// The variables that a statement gives a value, without the number in `for i, x in enumerate(xs)`.
std::set<std::string_view> values_given_by(std::string_view statement) {
  std::set<std::string_view> names = names_given_by(statement);
  if (statement.starts_with("for ") && statement.find(" in enumerate(") != npos)
    names.erase(trimmed(statement.substr(4, statement.find_first_of(",)") - 4)));
  return names;
}

}  // namespace

MadeValues::MadeValues(const PythonSource& source, const std::set<std::size_t>& made_at) : source_(source) {
  for (const std::size_t number : made_at) {
    if (number == 0 || number > source.lines().size()) continue;
    const PythonSource::Line& line = source.lines()[number - 1];
    made_at_.insert(line.statement);
    given_[line.function].merge(values_given_by(source.statement_of(line)));
  }
  all_ = given_;
  add_computed();
  add_functions();
}

void MadeValues::add_functions() {
  for (const PythonSource::Line& line : source_.lines()) {
    const auto around = all_.find(source_.function_around(line));
    if (around == all_.end() || around->first == line.function) continue;
    if (has_one(line.bare, around->second)) functions_[around->first].insert(source_.function_of(line));
  }
}

void MadeValues::add_computed() {
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const PythonSource::Line& line : source_.lines()) {
      const auto variables = all_.find(line.function);
      if (variables == all_.end() || &source_.lines()[line.statement] != &line) continue;
      for (const std::string_view part : parts_of(source_.statement_of(line), ";")) {
        const std::size_t equal = equal_sign(part, 0);
        const std::size_t from = part.starts_with("for ") ? part.find(" in ") : equal;
        if (from == npos || !has_one(part.substr(from), variables->second)) continue;
        for (const std::string_view name : values_given_by(part)) is_new |= variables->second.insert(name).second;
      }
    }
  }
}

bool MadeValues::makes(const PythonSource::Line& line) const { return made_at_.contains(line.statement); }

bool MadeValues::names(const PythonSource::Line& line, const ByFunction& variables) const {
  const auto of_function = variables.find(line.function);
  return of_function != variables.end() && has_one(source_.statement_of(line), of_function->second);
}

bool MadeValues::passes(const PythonSource::Line& line, const ByFunction& variables, Has has) const {
  const auto of_function = variables.find(line.function);
  if (of_function == variables.end() || &source_.lines()[line.statement] != &line) return false;
  for (const std::string_view statement : parts_of(source_.statement_of(line), ";")) {
    for (const std::string_view part : parts_of(statement, ":")) {  // "try: put(x)"
      if (equal_sign(part, 0) != npos || has_name(part, "lambda")) break;
      if (calls_with(part, [&](std::string_view arguments) { return has(arguments, of_function->second); }))
        return true;
    }
  }
  return false;
}

bool MadeValues::passes_function_with_one(const PythonSource::Line& line) const {
  if (&source_.lines()[line.statement] != &line) return false;
  for (const std::string_view statement : parts_of(source_.statement_of(line), ";")) {
    const std::size_t lambda = statement.find("lambda ");
    const auto named = all_.find(line.function);
    const bool in_call = lambda != npos && statement.substr(0, lambda).find('(') != npos;
    if (in_call && named != all_.end() && has_one(statement.substr(lambda), named->second)) return true;
    const auto within = functions_.find(line.function);
    const std::size_t equal = equal_sign(statement, 0);
    const std::string_view value = trimmed(statement.substr(equal == npos ? 0 : equal + 1));
    if (within != functions_.end() && calls_with(value, [&](auto code) { return has_one(code, within->second); }))
      return true;
  }
  return false;
}

bool MadeValues::names_one(const PythonSource::Line& line) const { return names(line, all_); }

bool MadeValues::names_itself(const PythonSource::Line& line) const { return names(line, given_); }

bool MadeValues::passes_one(const PythonSource::Line& line) const { return passes(line, all_, has_one); }

std::vector<const PythonSource::Line*> MadeValues::passes(bool only_it) const {
  std::vector<const PythonSource::Line*> lines;
  const auto find = [&](const ByFunction& variables, Has has) {
    for (const PythonSource::Line& line : source_.lines()) {
      if (passes(line, variables, has)) lines.push_back(&line);
    }
  };
  find(given_, has_one);
  if (lines.empty() && !only_it) find(all_, have_itself);
  return lines;
}

}  // namespace dcmt::analyzer
