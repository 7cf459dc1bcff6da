#include "collector/recorder/decode/native_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "trace/base/demangled.h"

namespace dcmt::recorder {

std::string NativeNames::function_at(const std::string& path, std::uint64_t offset) {
  const std::vector<scan::FileFunction>& functions = file_of(path).functions;
  // A return address can be one past the end of a function that does not return.
  const std::uint64_t inside = offset - 1;
  const auto after = std::ranges::upper_bound(functions, inside, {}, &scan::FileFunction::begin);
  if (after == functions.begin() || inside - std::prev(after)->begin >= std::prev(after)->bytes)
    return fmt::format("+{:#x}", offset);
  const std::string mangled(std::prev(after)->name);
  return without_brackets(demangled(mangled).value_or(mangled));
}

const NativeNames::File& NativeNames::file_of(const std::string& path) {
  const auto known = files_.find(path);
  if (known != files_.end()) return known->second;
  File& file = files_[path];
  file.file = std::make_unique<scan::ElfFile>(path);
  file.functions = file.file->functions();
  return file;
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

}  // namespace dcmt::recorder
