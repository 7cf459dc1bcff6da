#include "trace/base/demangled.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace dcmt {

std::optional<std::string> demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  if (status != 0 || text == nullptr) return std::nullopt;
  return text.get();
}

std::string without_brackets(std::string_view function) {
  constexpr std::string_view kWhole[] = {"operator()", "operator<<", "operator<=", "operator<",
                                         "operator->", "operator>>", "operator>=", "operator>"};
  constexpr std::string_view kUnnamed = "(anonymous namespace)";
  constexpr std::string_view kLambda = "{lambda";
  std::string name;
  int depth = 0;
  for (std::size_t i = 0; i < function.size();) {
    const std::string_view rest = function.substr(i);
    const auto whole = std::ranges::find_if(kWhole, [&](std::string_view each) { return rest.starts_with(each); });
    if (depth == 0 && (whole != std::end(kWhole) || rest.starts_with(kUnnamed))) {
      const std::string_view taken = whole != std::end(kWhole) ? *whole : kUnnamed;
      name += taken;
      i += taken.size();
      continue;
    }
    const char letter = function[i];
    if (depth == 0 && rest.starts_with(kLambda)) name += "lambda";
    if (depth == 0 && letter == '(') break;  // the parameters
    if (letter == '<' || letter == '(' || letter == '{') ++depth;
    // The type of a template's result comes before its name.
    if (depth == 0 && letter == ' ' && !name.ends_with("operator")) {
      if (!rest.starts_with(" <")) name.clear();  // as in "operator< <int>"
    } else if (depth == 0) {
      name += letter;
    }
    if (letter == '>' || letter == ')' || letter == '}') --depth;
    ++i;
  }
  return name.empty() ? std::string(function) : name;
}

std::string short_function(std::string_view function) {
  constexpr std::string_view kUnnamedScope = "(anonymous namespace)::";
  std::string name = without_brackets(function);
  for (std::size_t at = name.find(kUnnamedScope); at != std::string::npos; at = name.find(kUnnamedScope)) {
    name.erase(at, kUnnamedScope.size());
  }
  return name;
}

}  // namespace dcmt
