#include "analyzer/rules/made_values.h"

#include <algorithm>

namespace dcmt::analyzer {
namespace {

bool has_one(std::string_view code, const std::set<std::string_view>& names) {
  return std::ranges::any_of(names, [code](std::string_view name) { return has_name(code, name); });
}

/// True for `a.b[0](x)`, and nothing around it, if a call in it has one of the names as an argument.
bool calls_with(std::string_view part, const std::set<std::string_view>& names) {
  if (part.starts_with("await ")) part = trimmed(part.substr(6));
  bool has = false;
  std::size_t at = 0;
  while (at < part.size()) {
    if (part[at] == '(' || part[at] == '[') {
      const std::size_t end = at > 0 ? behind_brackets(part, at) : npos;
      if (end == npos) return false;
      has |= part[at] == '(' && has_one(part.substr(at, end - at), names);
      at = end;
    } else if (is_of_name(part[at]) || (part[at] == '.' && at > 0)) {
      ++at;
    } else {
      return false;
    }
  }
  return has && part.ends_with(')');
}

}  // namespace

MadeValues::MadeValues(const PythonSource& source, const std::set<std::size_t>& made_at) : source_(source) {
  for (const std::size_t number : made_at) {
    if (number == 0 || number > source.lines().size()) continue;
    const PythonSource::Line& line = source.lines()[number - 1];
    made_at_.insert(line.statement);
    given_[line.function].merge(names_given_by(source.statement_of(line)));
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
        for (const std::string_view name : names_given_by(part)) is_new |= variables->second.insert(name).second;
      }
    }
  }
}

bool MadeValues::makes(const PythonSource::Line& line) const { return made_at_.contains(line.statement); }

bool MadeValues::names(const PythonSource::Line& line, const ByFunction& variables) const {
  const auto of_function = variables.find(line.function);
  return of_function != variables.end() && has_one(source_.statement_of(line), of_function->second);
}

bool MadeValues::passes(const PythonSource::Line& line, const ByFunction& variables) const {
  const auto of_function = variables.find(line.function);
  if (of_function == variables.end() || &source_.lines()[line.statement] != &line) return false;
  for (const std::string_view statement : parts_of(source_.statement_of(line), ";")) {
    for (const std::string_view part : parts_of(statement, ":")) {  // "try: put(x)"
      if (equal_sign(part, 0) != npos || has_name(part, "lambda")) break;
      if (calls_with(part, of_function->second)) return true;
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
    if (within != functions_.end() && calls_with(value, within->second)) return true;
  }
  return false;
}

bool MadeValues::names_one(const PythonSource::Line& line) const { return names(line, all_); }

bool MadeValues::passes_one(const PythonSource::Line& line) const { return passes(line, all_); }

std::vector<const PythonSource::Line*> MadeValues::passes(bool only_it) const {
  std::vector<const PythonSource::Line*> lines;
  for (const ByFunction* variables : {&given_, &all_}) {
    for (const PythonSource::Line& line : source_.lines()) {
      if (passes(line, *variables)) lines.push_back(&line);
    }
    if (!lines.empty() || only_it) break;
  }
  return lines;
}

}  // namespace dcmt::analyzer
