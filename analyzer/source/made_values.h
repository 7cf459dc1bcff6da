// The way of what a program makes, in the text of a file: the variables that have it, and the calls that get it.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "analyzer/source/python_source.h"

namespace dcmt::analyzer {

/// Both must outlive it. Thread-safe after construction.
class MadeValues {
 public:
  /// @param made_at  numbers of the lines that made it, themselves or by calls
  MadeValues(const PythonSource& source, const std::set<std::size_t>& made_at);

  /// True if the line's statement made it.
  [[nodiscard]] bool makes(const PythonSource::Line& line) const;
  /// True if the line's statement names a variable that has it, or something that was computed from it.
  [[nodiscard]] bool names_one(const PythonSource::Line& line) const;
  /// True if the line's statement names a variable that has it.
  [[nodiscard]] bool names_itself(const PythonSource::Line& line) const;
  /// True if the line passes such a variable to a call and drops the result: `put(value)`. Only what the call does with
  /// the value can be of use then.
  [[nodiscard]] bool passes_one(const PythonSource::Line& line) const;
  /// True if the line passes a function to a call that keeps such a variable: a lambda or a function within this one.
  [[nodiscard]] bool passes_function_with_one(const PythonSource::Line& line) const;
  /// The lines that pass one, with a variable that has it; if there are none, those that pass what was computed from
  /// it, in a variable, unless `only_it`: `log(out)`, but not `print(out.item())`.
  [[nodiscard]] std::vector<const PythonSource::Line*> passes(bool only_it) const;
  /// True if variables of the line's function have it. Else a parameter may.
  [[nodiscard]] bool is_known_at(const PythonSource::Line& line) const { return all_.contains(line.function); }

 private:
  using Names = std::set<std::string_view>;
  using ByFunction = std::map<std::size_t, Names>;

  void add_computed();
  void add_functions();
  [[nodiscard]] bool names(const PythonSource::Line& line, const ByFunction& variables) const;
  /// True if code has one of the variables, in a way that counts.
  using Has = bool (*)(std::string_view code, const Names& variables);
  [[nodiscard]] bool passes(const PythonSource::Line& line, const ByFunction& variables, Has has) const;

  const PythonSource& source_;
  std::set<std::size_t> made_at_;  ///< indexes of lines with which the statements begin
  ByFunction given_;               ///< variables that these statements give a value
  ByFunction all_;                 ///< and what is computed from it
  ByFunction functions_;           ///< functions within a function that name one of these
};

}  // namespace dcmt::analyzer
