// The parameters of a program's functions that get what a call passes, in the text of its files.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "analyzer/source/holder_path.h"
#include "analyzer/source/python_source.h"

namespace dcmt::analyzer {

/// An argument of a call.
struct Argument {
  std::string_view function;  ///< its last name: "add" of `hub.add(rows)`
  bool of_object = false;     ///< `hub.add(rows)`, and not `add(rows)`
  std::size_t position = 0;
  std::string_view keyword = {};  ///< "rows" of `add(rows=seen)`; then it has no position
};
/// The arguments that are what has the name, and not something computed from it: `snapshot(league, 3)` passes "main:
/// league", `snapshot(len(league), league[0])` does not.
[[nodiscard]] std::vector<Argument> arguments_with(std::string_view code, const PathEnd& target);

/// The parameter that gets the argument; empty: none.
/// @param definition  "def snapshot(members, generator):"
[[nodiscard]] std::string_view parameter_for(std::string_view definition, const Argument& argument);

/// The `number`th parameter that has a default, of those that may be given by position; empty: there is none.
/// @param definition  "def sample(net, n=4, path=[]):"
[[nodiscard]] std::string_view parameter_with_default(std::string_view definition, std::size_t number);

/// The text of the definition of each function of this name.
[[nodiscard]] std::vector<std::string_view> definitions_of(const PythonSource& source, std::string_view function);

}  // namespace dcmt::analyzer
