#include "analyzer/source/other_names.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analyzer/source/parameters.h"
#include "analyzer/source/putting.h"

namespace dcmt::analyzer {
namespace {

constexpr int kMostPassed = 3;  ///< calls that pass a container on, one within the other

}  // namespace

FoundLines by_other_variables(const UserFile& file, const PathEnd& target) {
  FoundLines found;
  for (const PythonSource::Line& given : file.source.lines()) {
    if (!target.function.empty() && !file.source.is_within(given, target.function)) continue;
    const std::string_view function = file.source.function_of(given);
    for (const std::string_view name : other_names_of(given.bare, target)) {
      for (const PythonSource::Line& line : file.source.lines()) {
        if (&line != &given && file.source.function_of(line) == function && puts_into(line.bare, {name, function}))
          found.push_back({&file, &line});
      }
    }
  }
  return found;
}

GivenTo::GivenTo(const UserFiles& files, std::string_view holder) : files_(files) {
  const PathEnd end = end_of_path(holder);
  if (!end.name.empty() && end.link.empty()) parameters_ = parameters_with(end);
}

std::vector<PathEnd> GivenTo::parameters_with(const PathEnd& target) const {
  std::vector<PathEnd> parameters;
  files_.each([&](const UserFile& file) {
    for (const PythonSource::Line& line : file.source.lines()) {
      if (&file.source.lines()[line.statement] != &line) continue;
      if (!target.function.empty() && !file.source.is_within(line, target.function)) continue;
      for (const Argument& argument : arguments_with(file.source.statement_of(line), target)) {
        files_.each([&](const UserFile& other) {
          for (const std::string_view definition : definitions_of(other.source, argument.function)) {
            const std::string_view name = parameter_for(definition, argument);
            if (!name.empty())
              parameters.push_back({.name = name, .function = argument.function, .is_parameter = true});
          }
        });
      }
    }
  });
  return parameters;
}

FoundLines GivenTo::statements() const {
  std::vector<PathEnd> parameters = parameters_;
  FoundLines found;
  for (int passed = 1;; ++passed) {
    for (const PathEnd& target : parameters) {
      std::ranges::move(files_.everywhere([&](const UserFile& file) {
        FoundLines here = lines_of(file, [&](const PythonSource::Line& line) {
          return file.source.function_of(line) == target.function && puts_into(line.bare, target);
        });
        return here.empty() ? by_other_variables(file, target) : here;
      }),
                        std::back_inserter(found));
    }
    if (!found.empty() || parameters.empty() || passed == kMostPassed) return found;
    std::vector<PathEnd> next;
    for (const PathEnd& target : parameters) std::ranges::move(parameters_with(target), std::back_inserter(next));
    parameters = std::move(next);
  }
}

FoundLines GivenTo::uses() const {
  FoundLines found;
  for (const PathEnd& target : parameters_) {
    std::ranges::move(files_.everywhere([&](const UserFile& file) {
      return lines_of(file, [&](const PythonSource::Line& line) {
        return file.source.function_of(line) == target.function && uses_entries(line.bare, target);
      });
    }),
                      std::back_inserter(found));
  }
  return found;
}

}  // namespace dcmt::analyzer
